/**
 * The command line itself: what it refuses and how it says so, which store it takes, how it prints.
 */
import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { commandHelp, rootHelp } from '../../../src/cli/help.ts'
import { GLOBAL_OPTIONS } from '../../../src/cli/global-options.ts'
import { open } from '../../../src/index.ts'
import { cli, userFolder } from '../../support/command-line.ts'

/** The names in `-s, --store <place>`. */
function longs(flags: string): string[] {
  return flags.match(/(?<![\w-])--?[\w-]+/g) ?? []
}

const SCREEN = { lines: 30, columns: 115 }

/** Several runs at once: each is a process. */
async function refusals(
  cwd: string,
  ...lines: readonly string[]
): Promise<{ code: number | null; err: string }[]> {
  return Promise.all(
    lines.map(async (line) => {
      const { code, out, err } = await cli(line.split(' '), { cwd })
      expect(out).toBe('')
      return { code, err: err.trim() }
    }),
  )
}

describe('what is wrong is refused with what to write', () => {
  it('BEFORE it reads anything, however much there is', async () => {
    const { code, err } = await cli(['lst'], { input: 'x'.repeat(1_000_000) })
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining("'lst'") })
  })

  it('names the nearest command, option or choice, and does nothing', async () => {
    const cwd = await userFolder()
    const [command, option, choice, number, json, missing, excess, noMode] = await refusals(
      cwd,
      'lst',
      'list --stat QUEUED',
      'list --state QUEUD',
      'list --limit 5000',
      'submit mail {to:1} -s ./new',
      'show',
      'workers w-1',
      'lab FM_099',
    )
    expect(command).toEqual({ code: 2, err: "pawl: unknown command 'lst'\n(Did you mean list?)" })
    expect(option?.err).toBe("pawl: unknown option '--stat'\n(Did you mean --state?)")
    expect(choice?.err).toMatch(/'QUEUD' is invalid\. Allowed choices are CREATED, QUEUED/)
    expect(number?.err).toBe('pawl: --limit is 5000: write a whole number from 1 to 1000.')
    expect(json?.err).toMatch(/^pawl: <input> is no JSON .*To read it from a file, write @file/)
    expect(missing?.err).toBe("pawl: missing required argument 'job'")
    expect(excess?.err).toMatch(/too many arguments/)
    expect(noMode?.err).toBe("pawl: There is no failure mode 'FM_099': there are FM_001 to FM_014.")
    const all = [command, option, choice, number, json, missing, excess, noMode]
    expect(all.map((one) => one?.code)).toEqual(all.map(() => 2))
  })

  it('a store that is not named, or not there, is not made', async () => {
    const cwd = await userFolder()
    const [none, noFolder, noFile, memory, nowhere] = await refusals(
      cwd,
      'list',
      'list -s ./dta',
      'list -s sqlite:no.db',
      'list -s memory:',
      'list -s ftp://x',
    )
    expect(none?.err).toMatch(/^pawl: No store is named: write --store \.\/data/)
    expect(noFolder?.err).toMatch(/^pawl: There is no store at '\.\/dta'/)
    expect(noFile?.err).toMatch(/^pawl: There is no store at 'sqlite:no\.db'/)
    expect(memory?.err).toMatch(/gone with its process/)
    expect(nowhere).toMatchObject({ code: 3 })
    await expect(open(join(cwd, 'dta')).then((pawl) => pawl.close())).resolves.toBeUndefined()
  })

  it('the exit code says what kind of failure it was, and JSON says it in full', async () => {
    const cwd = await userFolder()
    await (await open(join(cwd, 'data'))).close()
    const [unknown, unreachable] = await Promise.all([
      cli(['show', 'nope', '-s', './data', '-o', 'json'], { cwd }),
      cli(['list', '-s', 'http://127.0.0.1:9', '-o', 'jsonl'], { cwd }),
    ])
    expect(unknown.code).toBe(3)
    expect(JSON.parse(unknown.err)).toMatchObject({
      error: { code: 'UnknownJob', kind: 'rejected', details: { job: 'nope' } },
    })
    // Nothing was sent to it, so nothing can have been done.
    expect(unreachable.code).toBe(2)
    const { error } = JSON.parse(unreachable.err) as { error: { message: string } }
    expect(error).toMatchObject({ code: 'WrongUsage' })
    expect(error.message).toMatch(/^No server answers at http:\/\/127\.0\.0\.1:9: .*pawl serve/)
  })
})

describe('which store it takes', () => {
  it('the command line, then a named profile, then the environment, then the profile of the file', async () => {
    const cwd = await userFolder()
    await mkdir(join(cwd, 'conf'))
    for (const name of ['a', 'b', 'c', 'd']) {
      const pawl = await open(join(cwd, 'conf', name))
      await pawl.pause(`queue-${name}`)
      await pawl.close()
    }
    const config = {
      profile: 'usual',
      profiles: { usual: { store: './d' }, other: { store: 'b' } },
    }
    await writeFile(join(cwd, 'conf', 'pawl.json'), JSON.stringify(config))
    const base = { PAWL_CONFIG: join(cwd, 'conf', 'pawl.json') }
    const env = { ...base, PAWL_STORE: join(cwd, 'conf', 'c') }
    const runs = await Promise.all([
      cli(['queues', '-s', './conf/a', '-p', 'other'], { cwd, env }),
      cli(['queues', '--profile', 'other'], { cwd, env }),
      cli(['queues'], { cwd, env }),
      cli(['queues'], { cwd, env: base }),
      cli(['queues'], { cwd, env: { ...base, PAWL_PROFILE: 'nope' } }),
    ])
    expect(runs.map(({ out }) => /queue-\w/.exec(out)?.[0])).toEqual([
      'queue-a',
      'queue-b',
      'queue-c',
      'queue-d',
      undefined,
    ])
    expect(runs[4]?.err).toMatch(/There is no profile 'nope' in .*: there are 'usual', 'other'\./)
  })

  it('a config file with a token, a stranger or no JSON is refused, and shows no token', async () => {
    const cwd = await userFolder()
    const texts = [
      '{ "profiles": { "x": { "token": "s3cr3t-s3cr3t-s3cr3t" } } }',
      '{ "profils": {} }',
      '{',
      '{ "profiles": { "x": { "store": 7 } } }',
    ]
    const runs = await Promise.all(
      texts.map(async (text, i) => {
        await writeFile(join(cwd, `${i}.json`), text)
        return cli(['list', '--config', `${i}.json`], { cwd })
      }),
    )
    expect(runs.map(({ code }) => code)).toEqual([2, 2, 2, 2])
    expect(runs[0]?.err).toMatch(/has a `token`: write it into a file of its own/)
    expect(runs[0]?.err).not.toContain('s3cr3t')
    expect(runs[1]?.err).toMatch(/`profils` of it .* there are 'profile', 'profiles'/)
    expect(runs[2]?.err).toMatch(/is no JSON/)
    expect(runs[3]?.err).toMatch(/`store` of profile 'x' .* is a text/)
  })
})

describe('how it prints', () => {
  it('text, JSON, lines of JSON; colours only where they are wanted; a broken pipe is no failure', async () => {
    const cwd = await userFolder()
    const store = ['-s', './data']
    await (await open(join(cwd, 'data'))).close()
    await cli(['submit', 'mail', '{"to":"\\u001b[31mred"}', ...store, '--id', 'a'], { cwd })
    await cli(['submit', 'mail', '2', '--id', 'b', ...store], { cwd })
    const text = await cli(['list', ...store], { cwd })
    const lines = await cli(['list', '-o', 'jsonl', ...store], { cwd })
    const json = await cli(['list', '--output', 'json', ...store], { cwd })
    const colour = await cli(['show', 'a', '--color', ...store], { cwd })
    expect(text.out.split('\n')[0]).toMatch(/^job\s+type\s+state\s+queue\s+tries\s+submitted/)
    expect(
      lines.out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id),
    ).toEqual(['a', 'b'])
    expect((JSON.parse(json.out) as { jobs: unknown[] }).jobs).toHaveLength(2)
    expect(text.out).not.toContain('\u001b')
    expect(colour.out).toContain('\u001b[2m')
    // What is stored does not colour, or command, the terminal.
    expect(colour.out).not.toContain('\u001b[31m')
    const head = `"${process.execPath}" "$0" list ${store.join(' ')} -o jsonl | head -1`
    const { programPath } = await import('../../support/command-line.ts')
    const first = execFileSync('sh', ['-c', head, await programPath()], { cwd, encoding: 'utf8' })
    expect(JSON.parse(first)).toMatchObject({ id: 'a' })
  })

  it('help is a screen: of all commands, and of each, with an example', () => {
    const texts = [rootHelp(COMMANDS), ...COMMANDS.map((one) => commandHelp(one, COMMANDS))]
    for (const text of texts) {
      const lines = text.trimEnd().split('\n')
      expect(lines.length, text).toBeLessThanOrEqual(SCREEN.lines)
      expect(Math.max(...lines.map((line) => line.length)), text).toBeLessThanOrEqual(
        SCREEN.columns,
      )
    }
    expect(rootHelp(COMMANDS).split('\n').length).toBeLessThanOrEqual(24)
    for (const { name, examples } of COMMANDS) {
      expect(examples.length, name).toBeGreaterThan(0)
      for (const example of examples)
        expect(example.startsWith(name.split(' ')[0] as string)).toBe(true)
    }
  })

  it('no option of a command has the name of one that every command has', () => {
    const taken = new Set([
      ...GLOBAL_OPTIONS.flatMap(({ flags }) => longs(flags)),
      '--version',
      '-V',
      '--help',
      '-h',
    ])
    const clashes = COMMANDS.flatMap(({ name, options = [] }) =>
      options
        .flatMap(({ flags }) => longs(flags))
        .filter((flag) => taken.has(flag))
        .map((flag) => `${name} ${flag}`),
    )
    expect(clashes).toEqual([])
    const names = COMMANDS.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })

  it('help and version go to stdout', async () => {
    const cwd = await userFolder()
    const runs = await Promise.all(
      [[], ['help'], ['help', 'quarantine', 'retry'], ['list', '--help'], ['--version']].map(
        (args) => cli(args, { cwd }),
      ),
    )
    expect(runs.map(({ code, err }) => [code, err])).toEqual(runs.map(() => [0, '']))
    expect(runs[0]?.out).toBe(rootHelp(COMMANDS))
    expect(runs[1]?.out).toBe(rootHelp(COMMANDS))
    expect(runs[2]?.out).toMatch(/^Usage: pawl quarantine retry \[options\]/)
    expect(runs[3]?.out).toMatch(/^Usage: pawl list \[options\]/)
    expect(runs[4]?.out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

describe('completion', () => {
  it('bash completes commands, commands within commands, options and choices; zsh and fish have all commands', async () => {
    const cwd = await userFolder()
    const [bash, zsh, fish, other] = await Promise.all([
      cli(['completion', 'bash'], { cwd }),
      cli(['completion', 'zsh'], { cwd }),
      cli(['completion', 'fish'], { cwd }),
      cli(['completion', 'tcsh'], { cwd }),
    ])
    expect(other).toMatchObject({
      code: 2,
      err: "pawl: <shell> is 'tcsh': write bash, zsh, fish.\n",
    })
    const completed = (...words: readonly string[]): string[] => {
      const list = words.map((word) => `'${word}'`).join(' ')
      const script = `${bash.out}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _pawl; echo "\${COMPREPLY[*]}"`
      return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split(/\s+/)
    }
    expect(completed('pawl', 'qu')).toEqual(['queues', 'quarantine'])
    expect(completed('pawl', 'quarantine', 're')).toEqual(['retry'])
    expect(completed('pawl', 'list', '--sub')).toEqual(['--submitted-from', '--submitted-before'])
    expect(completed('pawl', 'list', '--state', 'QU')).toEqual(['QUEUED', 'QUARANTINED'])
    expect(completed('pawl', 'show', 'job-1', '--st')).toEqual(['--store'])
    for (const { name } of COMMANDS) {
      const word = name.split(' ').at(-1) as string
      expect(zsh.out).toContain(`'${word}:`)
      expect(fish.out).toContain(`-a ${word} `)
    }
  })
})
