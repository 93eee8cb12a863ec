/**
 * A terminal for a program that draws: a pseudo terminal, made by Python's `pty`, with a reader that waits for what is on
 * the screen and presses keys. Where there is no Python it says so, and the test is passed over.
 */
import { spawn, spawnSync } from 'node:child_process'
import { cliEnv } from './command-line.ts'

export interface TerminalStep {
  /** What must be on the screen, as a regular expression. */
  readonly wait: string
  /** Then these keys are pressed. */
  readonly keys: string
}

export interface TerminalRun {
  readonly code: number
  /** Everything that was written to the terminal. */
  readonly output: string
  /** Whether its settings are as they were. */
  readonly isRestored: boolean
  /** What was waited for and did not come; null: all came. */
  readonly missing: string | null
}

const DRIVER = `
import fcntl, json, os, re, select, struct, subprocess, sys, termios, time
spec = json.load(sys.stdin)
master, slave = os.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', spec['rows'], spec['columns'], 0, 0))
before = termios.tcgetattr(slave)
def own():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
child = subprocess.Popen(spec['argv'], stdin=slave, stdout=slave, stderr=slave, env=spec['env'],
                         cwd=spec['cwd'], preexec_fn=own)
seen, screen, missing = b'', b'', None
def read(wait):
    global seen, screen
    ready, _, _ = select.select([master], [], [], wait)
    if ready:
        data = os.read(master, 65536)
        seen += data
        screen += data
for step in spec['steps']:
    until = time.time() + spec['seconds']
    while not re.search(step['wait'].encode(), screen):
        if time.time() > until or child.poll() is not None:
            missing = step['wait']
            break
        read(0.1)
    if missing is not None:
        break
    screen = b''
    os.write(master, step['keys'].encode())
until = time.time() + spec['seconds']
while child.poll() is None and time.time() < until:
    read(0.05)
if child.poll() is None:
    child.kill()
    missing = missing or 'its end'
code = child.wait()
while select.select([master], [], [], 0.05)[0]:
    read(0)
after = termios.tcgetattr(slave)
print(json.dumps({'code': code, 'output': seen.decode('utf8', 'replace'),
                  'isRestored': before[:4] == after[:4], 'missing': missing}))
`

/** False: there is no Python, or not one that knows terminals. It is said once, aloud. */
export function hasTerminal(): boolean {
  const { status } = spawnSync('python3', ['-c', 'import pty, termios'])
  if (status === 0) return true
  console.warn('PASSED OVER: there is no python3 with `pty`, so nothing is drawn on a terminal.')
  return false
}

export async function inTerminal(
  argv: readonly string[],
  steps: readonly TerminalStep[],
  terms: { readonly cwd: string; readonly columns?: number; readonly rows?: number },
): Promise<TerminalRun> {
  const { cwd, columns = 80, rows = 24 } = terms
  const env = cliEnv({ TERM: 'xterm-256color' })
  const spec = { argv: [process.execPath, ...argv], steps, cwd, columns, rows, env, seconds: 20 }
  const driver = spawn('python3', ['-c', DRIVER], { stdio: ['pipe', 'pipe', 'inherit'] })
  driver.stdin.end(JSON.stringify(spec))
  let text = ''
  for await (const part of driver.stdout.setEncoding('utf8')) text += String(part)
  return JSON.parse(text) as TerminalRun
}
