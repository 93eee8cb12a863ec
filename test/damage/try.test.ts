import { it } from 'vitest'
import { SimDisk } from '../sim/sim-disk.ts'
import { openStore } from './setting.ts'
import { KilledDisk } from './killed.ts'
import { SHORT_STORY } from './story.ts'
import { tellOn } from './telling.ts'
it('x', async () => {
  const a = new SimDisk({ tracing: true })
  const b = new SimDisk({ tracing: true })
  const t1 = await tellOn(a, openStore, SHORT_STORY)
  const k = new KilledDisk(b, 10000, false)
  const t2 = await tellOn(k, openStore, SHORT_STORY)
  console.log(a.calls, b.calls, t1.errors, t2.errors)
  const c = new SimDisk({ tracing: true })
  const k2 = new KilledDisk(c, 56, false)
  const t3 = await tellOn(k2, openStore, SHORT_STORY)
  console.log(c.calls, k2.isOver, t3.errors)
  console.log(c.trace.slice(45))
  console.log(a.trace.slice(45))
})
