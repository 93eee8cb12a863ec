/**
 * The program of the tests: an engine on a directory, as an MCP server on standard input and output.
 */
import { job, open } from '../../../src/index.ts'
import { serveMcp } from '../../../src/mcp/index.ts'

const [folder = '', mode] = process.argv.slice(2)
const pawl = await open(folder)
if (mode === undefined) {
  await pawl.submit(job('mail', { run: () => 'sent' }), undefined, { id: 'waits' })
}
await serveMcp(pawl, { allowChanges: mode === 'changes', by: 'a tool' }).closed
await pawl.close()
