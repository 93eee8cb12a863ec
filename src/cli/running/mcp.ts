/**
 * `mcp`: a store as tools for models, on standard input and output.
 */
import type { CliCommand } from '../command.ts'
import { hasFlag, textOption } from '../command-call.ts'
import { withStore } from '../store-session.ts'

export const MCP: CliCommand = {
  name: 'mcp',
  group: 'run',
  says: 'A server of the Model Context Protocol on stdin and stdout, until stdin ends',
  details:
    'Its tools are the operations of the catalogue. It only reads, unless it is told otherwise.',
  options: [
    { flags: '--allow-changes', says: 'Offer tools that change something, too' },
    { flags: '--by <name>', says: 'Who is on record for changes; mcp' },
  ],
  examples: ['mcp --store ./data', 'mcp -s http://127.0.0.1:7295 --allow-changes'],
  run: async (call) => {
    const by = textOption(call, 'by')
    const { serveMcp } = await import('../../mcp/index.ts')
    await withStore(call, async (pawl) => {
      const allowChanges = hasFlag(call, 'allowChanges')
      await serveMcp(pawl, { allowChanges, ...(by === undefined ? {} : { by }) }).closed
    })
  },
}
