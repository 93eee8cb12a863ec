/**
 * The tools of the MCP server, made from the catalogue: each operation that answers once, and that does something with the
 * engine and not with a server. Those that change something are left out, and refused, unless they are allowed.
 */
import { PawlError } from '../kernel/index.ts'
import type { CallName, OperationContext } from '../operations/index.ts'
import { isCall, runOperation } from '../operations/index.ts'
import type { JsonSchema, Operation } from '../protocol/index.ts'
import { misfit, OPERATIONS, problemDetails, SERVER_PROBLEMS } from '../protocol/index.ts'

export interface McpTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly annotations: {
    readonly title: string
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly openWorldHint: boolean
  }
}

export interface ToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[]
  readonly structuredContent?: object
  readonly isError: boolean
}

/** Clients want names of letters, digits and underscores. */
function toolName({ name }: Operation): string {
  return name.replaceAll(/[^A-Za-z0-9]+/g, '_')
}

export class Tools {
  readonly #byName: ReadonlyMap<string, Operation>

  constructor(allowChanges: boolean) {
    const offered = Object.values(OPERATIONS).filter(
      ({ name, changes }) => isCall(name) && (allowChanges || changes === null),
    )
    this.#byName = new Map(offered.map((operation) => [toolName(operation), operation]))
  }

  list(): McpTool[] {
    return [...this.#byName].map(([name, { says, changes, command, input }]) => {
      const isReadOnly = changes === null
      return {
        name,
        description: isReadOnly ? says : `${says} Changes: ${changes}`,
        inputSchema: input,
        annotations: {
          title: 'words' in command ? command.summary : name,
          readOnlyHint: isReadOnly,
          destructiveHint: 'asks' in command && command.asks,
          openWorldHint: false,
        },
      }
    })
  }

  /** Null: there is no such tool. Whatever goes wrong within it is a result, which the caller can read. */
  async call(name: string, input: unknown, context: OperationContext): Promise<ToolResult | null> {
    const operation = this.#byName.get(name)
    if (operation === undefined) return null
    const fault = misfit(operation.input, input)
    if (fault !== null) return failed(problemDetails('InvalidInput', 'rejected', fault))
    try {
      const answer = await runOperation(operation.name as CallName, context, input as never)
      // As the operation is answered anywhere: what JSON has no word for is left out.
      const text = JSON.stringify(answer) ?? 'null'
      const value = JSON.parse(text) as unknown
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      return {
        content: [{ type: 'text', text }],
        ...(isObject ? { structuredContent: value } : {}),
        isError: false,
      }
    } catch (error) {
      if (!(error instanceof PawlError) || error.kind === 'bug') {
        return failed(problemDetails('InternalError', 'bug', SERVER_PROBLEMS.InternalError.says))
      }
      return failed(problemDetails(error.code, error.kind, error.message, error.details))
    }
  }
}

function failed(problem: object): ToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(problem) }], isError: true }
}
