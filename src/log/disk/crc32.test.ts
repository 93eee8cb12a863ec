import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import zlib from 'node:zlib'
import { expect, it } from 'vitest'
import { crc32, crc32Of } from './crc32.ts'

it('an older Node.js is told by one sentence what to install', () => {
  expect(() => crc32Of(undefined, 'v20.14.0')).toThrow(
    'Pawl needs Node.js 20.15 or later of 20, or 22.2 or later, and this is v20.14.0: install a newer one.',
  )
  expect(crc32).toBe(zlib.crc32)
})

it('no other file imports it from Node.js by name, which an older one could not even read', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  )
  const named = files.filter((path) =>
    /import \{[^}]*\bcrc32\b[^}]*\} from 'node:zlib'/.test(readFileSync(join('src', path), 'utf8')),
  )
  expect(named).toEqual([])
})

it('`engines` of the package says the same', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    engines: { node: string }
  }
  expect(engines.node).toBe('>=20.15 <21 || >=22.2')
})
