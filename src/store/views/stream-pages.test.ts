/** What a page of a stream takes from the entries of a job, the newest first. */
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/support/authority.ts'
import { plain } from '../../../test/support/specs.ts'
import { PageOfStream } from './stream-pages.ts'

function streamed(): Authority {
  const a = new Authority()
  a.must({ type: 'SubmitJob', spec: plain() })
  a.must({ type: 'GrantLease' })
  for (const offset of [0, 2, 4]) {
    a.must({ type: 'AppendStream', name: 'log', offset, values: [`${offset}`, `${offset + 1}`] })
  }
  return a
}

function pageOf(a: Authority, from: number, limit = 9): PageOfStream {
  const query = { kind: 'stream', job: 'a', stage: 0, segment: 0, name: 'log' } as const
  return new PageOfStream({ ...query, from, limit }, a.task())
}

describe('a page of a stream', () => {
  it('asks for no entry older than the one that it begins in', () => {
    const a = streamed()
    const page = pageOf(a, 3)
    expect(
      a.log
        .toReversed()
        .map((entry) => page.add(entry))
        .indexOf(false),
    ).toBe(1)
    expect(page.page.pieces.map(({ offset, values }) => [offset, values])).toEqual([
      [3, ['3']],
      [4, ['4', '5']],
    ])
  })

  it('asks for none if there is nothing behind where it begins', () => {
    expect(pageOf(streamed(), 6).isEmpty).toBe(true)
    expect(pageOf(streamed(), 5).isEmpty).toBe(false)
  })

  it('shows a gap where entries are gone, and ends', () => {
    const a = streamed()
    const page = pageOf(a, 0)
    page.add(a.log.at(-1) as (typeof a.log)[number])
    expect(page.page).toEqual({
      pieces: [{ offset: 4, attempt: 1, at: 0, values: ['4', '5'] }],
      next: 6,
      length: 6,
    })
    expect(pageOf(a, 0).page).toEqual({ pieces: [], next: 6, length: 6 })
  })

  it('gets further, whatever limit it is given', () => {
    const a = streamed()
    const page = pageOf(a, 0, 0)
    for (const entry of a.log.toReversed()) page.add(entry)
    expect(page.page).toMatchObject({ pieces: [{ values: ['0'] }], next: 1 })
  })
})
