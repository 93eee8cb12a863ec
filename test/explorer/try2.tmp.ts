import { findScope } from './scope.ts'
import { explore } from './search.ts'
import { encode } from './component.ts'
const r = explore(findScope('child'), undefined, { states: 200000 })
const path = r.path(r.states - 1)
for (const t of path.slice(-4))
  console.log(t.map((id) => encode(r.space.part(id), (w) => w)).join('\n   '))
console.log(path.length)
