/** Texts of jobs as a page may show them: nothing is taken out, and nothing acts. */
import { expect, it } from 'vitest'
import { label, line, seen } from './safe-text.ts'

it('writes what cannot be seen, or turns the order around, as its code point', () => {
  expect(seen('a\u0000b\u001b[31m')).toBe(String.raw`a\u{0}b\u{1b}[31m`)
  expect(seen('x\u202Egnp\u2066\uFEFF\u200B')).toBe(
    String.raw`x\u{202e}gnp\u{2066}\u{feff}\u{200b}`,
  )
  expect(seen('half \uD800 alone')).toBe(String.raw`half \u{d800} alone`)
})

it('leaves letters of every script, signs and lines as they are', () => {
  const text = 'Grüße, 你好, مرحبا, 𝕌 👍\n\tnext <b>&amp;'
  expect(seen(text)).toBe(text)
})

it('has one line of a long text, cut where it says so', () => {
  expect(line('a\n\nb\tc')).toBe('a b c')
  expect(line('x'.repeat(300), 10)).toBe('xxxxxxxxxx…')
  expect(label('safe\u202Egnp', 10)).toBe(String.raw`safe\u{20…`)
  expect(label('short', 10)).toBe('short')
})
