import { describe, expect, it } from 'vitest'
import { rulesWithout } from '../../../../src/kernel/index.ts'
import { theFormIsOld, theWorkerIsOld } from '../../../../src/lab/approval-after-deploy.ts'

describe('FM_014 approval after the deploy, reproduced', () => {
  it('the new handler gets an approval without an amount, when what was checked is not looked at', () => {
    const { authority, answers } = theFormIsOld(rulesWithout('SendMessage.value-checked'))
    expect(answers).toEqual({ approve: 'committed' })
    expect(authority.task('a').waiting?.waits).toMatchObject([{ value: '{"ok":true}' }])
  })

  it('people are shown the old form again, when an older version may record over a newer one', () => {
    const { authority, answers } = theWorkerIsOld(
      rulesWithout('SuspendExecution.definition-not-older'),
    )
    expect(answers).toEqual({ suspend: 'committed' })
    expect(authority.task('a').waiting?.waits.at(-1)).toMatchObject({
      schema: '{"required":["ok"]}',
    })
  })
})
