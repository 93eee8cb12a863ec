/**
 * `pawl/mcp`: an engine as a server of the Model Context Protocol.
 */
export type { McpOptions, McpServer } from './serve-mcp.ts'
export { serveMcp } from './serve-mcp.ts'
