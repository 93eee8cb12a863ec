/** The MCP server, as a real client sees it over standard input and output of a process. */
import { PassThrough } from 'node:stream'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { job, open } from '../../../src/index.ts'
import { serveMcp } from '../../../src/mcp/index.ts'
import { isCall } from '../../../src/operations/index.ts'
import { OPERATIONS } from '../../../src/protocol/index.ts'
import { temporaryFolder } from '../../support/engines.ts'

const TSX = pathToFileURL(join(import.meta.dirname, '../../../node_modules/tsx/dist/esm/index.mjs'))
const PROGRAM = join(import.meta.dirname, 'mcp-process.ts')

async function clientOf(folder: string, ...mode: readonly string[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  const args = ['--import', TSX.href, PROGRAM, folder, ...mode]
  await client.connect(new StdioClientTransport({ command: process.execPath, args }))
  return client
}

interface Called {
  readonly isError?: boolean
  readonly structuredContent?: Record<string, unknown>
  readonly content: readonly { readonly text: string }[]
}

async function toolCall(client: Client, name: string, input: object = {}): Promise<Called> {
  return (await client.callTool({ name, arguments: { ...input } })) as unknown as Called
}

describe('an MCP server in a process', () => {
  it('lets a client read, and change nothing; with leave, it changes what is asked', async () => {
    const folder = await temporaryFolder()
    const reader = await clientOf(folder)
    expect(reader.getServerVersion()).toMatchObject({ name: 'pawl' })
    const { tools } = await reader.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['jobs_list', 'health']))
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([])
    const listed = await toolCall(reader, 'jobs_list', { type: 'mail' })
    expect(listed.structuredContent?.['jobs']).toMatchObject([{ id: 'waits', state: 'QUEUED' }])
    const why = await toolCall(reader, 'jobs_explain', { job: 'waits' })
    expect(why.structuredContent?.['reasons']).toMatchObject([{ what: 'no-worker' }])
    await expect(toolCall(reader, 'jobs_cancel', { job: 'waits' })).rejects.toThrow(/not allowed/)
    await reader.close()
    const operator = await clientOf(folder, 'changes')
    const cancelled = await toolCall(operator, 'jobs_cancel', { job: 'waits', reason: 'a mistake' })
    expect(cancelled.isError).toBe(false)
    await operator.close()
    const pawl = await open(folder)
    onTestFinished(() => pawl.close())
    expect((await pawl.get('waits'))?.state).toBe('FAILED')
    const history = await pawl.history('waits')
    expect(history.at(-1)).toMatchObject({ by: 'a tool', reason: 'a mistake' })
  })
})

const mail = job('mail', { run: () => null })

/** The server in this process, and its answers line by line. */
async function session(allowChanges = false): Promise<{
  pawl: Pawl
  ask: (line: string) => Promise<Record<string, unknown>>
  end: () => Promise<void>
}> {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  const [input, output] = [new PassThrough(), new PassThrough()]
  const { closed } = serveMcp(pawl, { input, output, allowChanges })
  const answers = createInterface({ input: output })[Symbol.asyncIterator]()
  return {
    pawl,
    ask: async (line) => {
      input.write(`${line}\n`)
      return JSON.parse((await answers.next()).value as string) as Record<string, unknown>
    },
    end: async () => {
      input.end()
      await closed
    },
  }
}

function request(method: string, params: object = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

describe('its tools', () => {
  it('are all operations that answer once, and those that only read unless changes are allowed', async () => {
    const all = Object.values(OPERATIONS).filter(({ name }) => isCall(name))
    const names = (some: typeof all): string[] =>
      some.map(({ name }) => name.replaceAll(/\W/g, '_'))
    for (const allowChanges of [true, false]) {
      const { ask } = await session(allowChanges)
      const { result } = await ask(request('tools/list'))
      const { tools } = result as { tools: { name: string; inputSchema: unknown }[] }
      const expected = all.filter(({ changes }) => allowChanges || changes === null)
      expect(tools.map(({ name }) => name)).toEqual(names(expected))
      expect(tools.map(({ inputSchema }) => inputSchema)).toEqual(
        expected.map(({ input }) => input),
      )
    }
    expect(all.length).toBeGreaterThan(30)
  })

  it('say what is wrong with an input, and what the engine refuses, as results', async () => {
    const { ask } = await session()
    const call = async (name: string, args: object): Promise<Record<string, unknown>> => {
      const { result } = await ask(request('tools/call', { name, arguments: args }))
      const { isError, content } = result as { isError: boolean; content: { text: string }[] }
      return { isError, ...(JSON.parse(content[0]?.text ?? '') as object) }
    }
    expect(await call('jobs_list', { limit: 0 })).toMatchObject({
      isError: true,
      code: 'InvalidInput',
    })
    expect(await call('jobs_list', { sort: 'x' })).toMatchObject({
      isError: true,
      code: 'InvalidInput',
    })
    expect(await call('jobs_show', { job: 'none' })).toMatchObject({
      isError: true,
      code: 'UnknownJob',
    })
  })

  it('refuse a number that they would keep as another', async () => {
    const { pawl, ask } = await session(true)
    const line = request('tools/call', {
      name: 'jobs_submit',
      arguments: { type: 'mail', input: { id: 'HERE' } },
    })
    const { error } = await ask(line.replace('"HERE"', '9007199254740993'))
    expect(error).toMatchObject({
      code: -32_602,
      message:
        'The call has the number 9007199254740993 at `params.arguments.input.id`, which would be kept as 9007199254740992: write it as a text, "9007199254740993".',
    })
    expect((await pawl.counts()).total).toBe(0)
    expect(await ask(line)).toMatchObject({ result: { isError: false } })
  })

  it('change nothing while that is not allowed, whatever is called', async () => {
    const { pawl, ask } = await session()
    await pawl.submit(mail, undefined, { id: 'a' })
    const before = (await pawl.metrics()).entries
    for (const { name, changes, example } of Object.values(OPERATIONS)) {
      if (changes === null) continue
      const params = {
        name: name.replaceAll(/\W/g, '_'),
        arguments: { ...(example.input as object), job: 'a' },
      }
      expect(await ask(request('tools/call', params))).toMatchObject({ error: { code: -32_602 } })
    }
    expect((await pawl.metrics()).entries).toEqual(before)
  })
})

async function ended(pawl: Pawl): Promise<number> {
  return (await pawl.counts()).states.FAILED
}

describe('a call that goes on for long', () => {
  const slow = { action: 'cancel', all: true, rate: { count: 1, per: '1h' } }

  it('stops when it is cancelled, and is not answered', async () => {
    const { pawl, ask, end } = await session(true)
    await pawl.submitMany(mail, [{}, {}, {}])
    const asked = request('tools/call', { name: 'bulk_run', arguments: slow })
    const cancelled = JSON.stringify({
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    })
    const answer = ask(asked)
    await expect.poll(() => ended(pawl)).toBe(1)
    void ask(cancelled).catch(() => undefined)
    void ask(request('ping')).catch(() => undefined)
    expect(await answer).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    await end()
    expect(await ended(pawl)).toBe(1)
  })

  it('stops when the input ends, and says how far it came', async () => {
    const { pawl, ask, end } = await session(true)
    await pawl.submitMany(mail, [{}, {}, {}])
    const answer = ask(request('tools/call', { name: 'bulk_run', arguments: slow }))
    await expect.poll(() => ended(pawl)).toBe(1)
    await end()
    expect(await answer).toMatchObject({ result: { structuredContent: { isComplete: false } } })
  })
})

describe('its lines', () => {
  it('that are no requests are refused, and the next one is answered', async () => {
    const { ask, end } = await session()
    expect(await ask('{')).toMatchObject({ id: null, error: { code: -32_700 } })
    expect(await ask('[]')).toMatchObject({ id: null, error: { code: -32_600 } })
    expect(await ask('{"id":7}')).toMatchObject({ id: 7, error: { code: -32_600 } })
    expect(await ask('x'.repeat(17 * 1_024 * 1_024))).toMatchObject({ error: { code: -32_700 } })
    expect(await ask(request('resources/list'))).toMatchObject({ error: { code: -32_601 } })
    // A notification has no answer.
    expect(await ask(`{"method":"notifications/initialized"}\n${request('ping')}`)).toMatchObject({
      result: {},
    })
    await end()
  })

  it('greet in the version that is asked for, or the newest one', async () => {
    const { ask } = await session()
    const greeted = async (protocolVersion: string): Promise<unknown> =>
      (await ask(request('initialize', { protocolVersion })))['result']
    expect(await greeted('2024-11-05')).toMatchObject({ protocolVersion: '2024-11-05' })
    expect(await greeted('1999-01-01')).toMatchObject({ protocolVersion: '2025-06-18' })
  })

  it('come from an engine', () => {
    expect(() => serveMcp({} as Pawl)).toThrow(/takes an engine/)
  })
})
