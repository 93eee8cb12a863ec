import { describe, expect, it } from 'vitest'
import { ExportedDefinitions } from './exported-definitions.ts'

/** A module of these lines; a definition is known by its looks. */
function moduleOf(...lines: string[]): string {
  const define = 'const job = (name) => ({ name, run: () => 1, effects: new Map() })'
  return `data:text/javascript,${encodeURIComponent([define, ...lines].join('\n'))}`
}

describe('the definitions of a child', () => {
  it('are what its modules export, one by one, in arrays, and by default', async () => {
    const definitions = await ExportedDefinitions.from([
      moduleOf(`export const one = job('one')`, `export const none = null`),
      moduleOf(`export const many = [job('two'), 'text']`, `export default job('three')`),
    ])
    const names = ['one', 'two', 'three'].map((name) => definitions.get(name).name)
    expect(names).toEqual(['one', 'two', 'three'])
  })

  it('may be exported twice, if it is the same one', async () => {
    const definitions = await ExportedDefinitions.from([
      moduleOf(`const one = job('one')`, `export { one, one as two, one as default }`),
    ])
    expect(definitions.get('one').name).toBe('one')
  })

  it('are refused if there are two of one name, with the modules', async () => {
    const modules = [
      moduleOf(`export const a = job('one')`),
      moduleOf('', `export const b = job('one')`),
    ]
    const definitions = await ExportedDefinitions.from(modules)
    expect(() => definitions.get('one')).toThrow(/two different jobs named 'one'/)
    expect(() => definitions.get('one')).toThrow(modules[1])
  })

  it('are refused if they are not there, with the modules', async () => {
    const modules = [moduleOf(`export const a = job('one')`)]
    const definitions = await ExportedDefinitions.from(modules)
    expect(() => definitions.get('two')).toThrow(
      expect.objectContaining({
        code: 'InvalidDefinition',
        message: expect.stringMatching(/'two'.*none of the worker's `modules` exports it: data:/),
      }),
    )
  })

  it('cannot be had from a module that throws, and its error is the cause', async () => {
    const failing = ExportedDefinitions.from([moduleOf(`throw new TypeError('half a module')`)])
    await expect(failing).rejects.toMatchObject({
      code: 'InvalidDefinition',
      message: expect.stringMatching(/could not import data:.*half a module/),
      cause: { name: 'TypeError' },
    })
  })
})
