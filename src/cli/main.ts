#!/usr/bin/env node
/**
 * The program `pawl`: it runs one command line and ends with its exit code.
 */
import { runProgram } from './program.ts'

/** The reader of a pipe, such as `head`, has seen enough: that is no error. */
function endsQuietly(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

endsQuietly(process.stdout)
endsQuietly(process.stderr)
process.exitCode = await runProgram(process.argv.slice(2))
