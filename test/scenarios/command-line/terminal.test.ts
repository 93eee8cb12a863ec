/**
 * What the program draws, on a real pseudo terminal: `top`, and the question before what cannot be taken back.
 */
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { frameLines, sparkline } from '../../../src/cli/top/top-frame.ts'
import type { TopState } from '../../../src/cli/top/top-state.ts'
import { RateHistory, readTopState } from '../../../src/cli/top/top-state.ts'
import { stylesOf } from '../../../src/cli/styles.ts'
import { effect, job, open, typed } from '../../../src/index.ts'
import { serve } from '../../../src/server/index.ts'
import { cli, programPath, userFolder } from '../../support/command-line.ts'
import type { TerminalRun, TerminalStep } from '../../support/terminal.ts'
import { hasTerminal, inTerminal } from '../../support/terminal.ts'

const mail = job('mail', { input: typed<number>(), run: ({ input }) => input })
const fails = job('fails', {
  retry: { max: 0 },
  run: () => {
    throw new Error('no such mailbox')
  },
})

const pay = effect('pay', {
  retry: { max: 0 },
  run: () => {
    throw new Error('the bank is closed')
  },
})
const order = job('order', { effects: [pay], run: ({ commit }) => commit(null, [pay()]) })

const isThere = hasTerminal()

async function drawn(
  args: readonly string[],
  steps: readonly TerminalStep[],
  terms: { cwd: string; columns?: number; rows?: number },
): Promise<TerminalRun> {
  return inTerminal([await programPath(), ...args], steps, terms)
}

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'

const HOME = '\u001b[H'
const TO_END = '\u001b[J'

/** The lines of the last picture, without what colours them. */
function lastPicture(output: string): string[] {
  const last = output.slice(output.lastIndexOf(HOME) + HOME.length, output.lastIndexOf(TO_END))
  // oxlint-disable-next-line no-control-regex -- colours, and what clears a line
  return last.replaceAll(/\u001b\[[\d;]*[mK]/g, '').split(/\r+\n/)
}

describe.runIf(isThere)('pawl top', () => {
  it('draws rates, queues, workers and what needs a person, at 80 columns; q ends it', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const server = await serve(pawl, { port: 0 })
    onTestFinished(() => server.close())
    pawl.work([mail, fails], { name: 'tester' })
    await pawl.submit(fails)
    await expect.poll(async () => (await pawl.counts()).states.QUARANTINED).toBe(1)
    const timer = setInterval(() => void pawl.submit(mail, 1), 20)
    onTestFinished(() => clearInterval(timer))
    const cwd = await userFolder()
    const steps = [{ wait: 'done +[1-9][0-9.]*/s', keys: 'q' }]
    const run = await drawn(['top', '-s', server.url], steps, { cwd })
    expect(run).toMatchObject({ code: 0, missing: null, isRestored: true })
    expect(run.output).toContain(ENTER)
    expect(run.output.trimEnd().endsWith(LEAVE)).toBe(true)
    const lines = lastPicture(run.output)
    expect(lines.length).toBeLessThanOrEqual(24)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    const text = lines.join('\n')
    expect(text).toMatch(/^pawl top {2}http:.*q quits/)
    expect(text).toMatch(/submitted +\d+\.\d\/s [ ▁-█]+ done/)
    expect(text).toMatch(/QUEUE .*\ndefault +\d+ /)
    expect(text).toMatch(/WORKER .*\ntester\S* +\d+\/10 /)
    expect(text).toMatch(/NEEDS A PERSON\ngiven up fails: no such mailbox/)
  })

  it('Ctrl-C ends it, and the terminal is as it was, also on a directory of its own', async () => {
    const cwd = await userFolder()
    await (await open(join(cwd, 'data'))).close()
    const steps = [{ wait: 'Nothing needs a person', keys: '\u0003' }]
    const run = await drawn(['top', '-s', './data'], steps, { cwd, columns: 60, rows: 12 })
    expect(run).toMatchObject({ code: 0, missing: null, isRestored: true })
    const lines = lastPicture(run.output)
    expect(lines.length).toBeLessThanOrEqual(12)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60)
  })
})

describe('pawl top without a terminal', () => {
  it('is refused, but for one picture', async () => {
    const cwd = await userFolder()
    await (await open(join(cwd, 'data'))).close()
    const refused = await cli(['top', '-s', './data'], { cwd })
    expect(refused.code).toBe(2)
    expect(refused.err).toMatch(/draws on a terminal, and there is none: write --once/)
    const once = await cli(['top', '--once', '-s', './data'], { cwd })
    expect(once.out).toMatch(/^pawl top {2}\.\/data[\s\S]*0 jobs[\s\S]*Nothing needs a person\.\n$/)
  })

  it('a picture never is wider or higher than its terminal, whatever is in the store', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const long = 'q'.repeat(200)
    for (let i = 0; i < 60; i++) await pawl.pause(`${long}-${i}`)
    await pawl.submit(job('\u001b[2Jmail', { queue: `${long}-0`, run: () => null }))
    const state: TopState = await readTopState(
      pawl,
      `postgres://${'h'.repeat(90)}/app`,
      new Date(0),
    )
    const rates = new RateHistory()
    for (let i = 0; i < 90; i++) {
      for (let n = 0; n < i * 1_000; n += 500) rates.count('JobSubmitted')
      rates.next()
    }
    const styles = stylesOf({}, false)
    for (const [columns, rows] of [
      [80, 24],
      [40, 10],
      [200, 60],
      [80, 5],
    ] as const) {
      const lines = frameLines(styles, state, rates, { columns, rows }, 'no answer '.repeat(30))
      expect(lines.length).toBeLessThanOrEqual(rows)
      expect(
        lines.filter((line) => line.length > columns),
        `${columns}`,
      ).toEqual([])
      expect(lines.join('')).not.toContain('\u001b')
    }
  })

  it('what may have happened or not comes first of what needs a person', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    pawl.work([fails, order])
    await pawl.submitMany(
      fails,
      Array.from({ length: 9 }, () => ({})),
    )
    await expect.poll(async () => (await pawl.counts()).states.QUARANTINED).toBe(9)
    const { id } = await pawl.submit(order)
    await expect.poll(async () => (await pawl.counts({ heldEffects: true })).total).toBe(1)
    const state = await readTopState(pawl, 'memory:', new Date())
    const lines = frameLines(
      stylesOf({}, false),
      state,
      new RateHistory(),
      { columns: 90, rows: 40 },
      null,
    )
    const at = lines.indexOf('NEEDS A PERSON')
    expect(lines.slice(at + 1, at + 3)).toEqual([
      `happened, or not: pay of order  ${id}`,
      expect.stringMatching(/^given up fails/),
    ])
    expect(lines.join('\n')).toContain('… 4 more')
  })

  it('a rate is drawn from whole seconds, the highest as a full bar', () => {
    const rates = new RateHistory()
    for (const count of [0, 1, 4, 8]) {
      for (let i = 0; i < count; i++) rates.count('JobSubmitted')
      rates.next()
    }
    rates.count('JobSubmitted')
    expect(rates.of('submitted')).toEqual([0, 1, 4, 8])
    expect(sparkline(rates.of('submitted'))).toBe(' ▁▄█')
  })
})

describe.runIf(isThere)('the question before what cannot be taken back', () => {
  it('no, and nothing is done; yes, and it is; of many jobs it says how many', async () => {
    const cwd = await userFolder()
    const pawl = await open(join(cwd, 'data'))
    await pawl.submit(mail, 1, { id: 'a' })
    await pawl.submit(mail, 2, { id: 'b' })
    await pawl.close()
    const args = ['-s', './data']
    const no = await drawn(['cancel', 'a', ...args], [{ wait: 'y/N', keys: 'n\r' }], { cwd })
    expect(no).toMatchObject({ code: 1, missing: null, isRestored: true })
    expect(no.output).toMatch(/The job is cancelled.* Go on\? \[y\/N\] [\s\S]*Nothing was done\./)
    const ended = await drawn(['cancel', 'a', ...args], [{ wait: 'y/N', keys: '\u0003' }], { cwd })
    expect(ended).toMatchObject({ code: 130, isRestored: true })
    const many = ['bulk', 'cancel', '--type', 'mail', ...args]
    const yes = await drawn(many, [{ wait: 'meant for 2 jobs', keys: 'y\r' }], { cwd })
    expect(yes).toMatchObject({ code: 0, missing: null })
    expect(yes.output).toMatch(/done[^\n]* 2\r/)
    const list = await cli(['list', ...args], { cwd })
    expect(list.out.match(/FAILED/g)).toHaveLength(2)
  })
})
