/**
 * Writes prose that nobody has to read, out of a theme's words: the same for the same chance.
 */
import type { Chance } from './chance.ts'
import { between, pick } from './chance.ts'
import type { Theme } from './vocabulary.ts'
import { ASIDES, DEEDS, MOMENTS, OPENINGS, QUALITIES } from './vocabulary.ts'

type Sentence = (theme: Theme, random: Chance) => string

const SENTENCES: readonly Sentence[] = [
  (theme, random) => `${actor(theme, random)} ${deed(theme, random)}.`,
  (theme, random) => `${actor(theme, random)} ${deed(theme, random)} ${pick(MOMENTS, random)}.`,
  (theme, random) =>
    `${pick(OPENINGS, random)} ${lower(actor(theme, random))} ${deed(theme, random)}, ${pick(ASIDES, random)}.`,
  (theme, random) =>
    `${actor(theme, random)} ${deed(theme, random)} – and ${lower(actor(theme, random))} ${deed(theme, random)}!`,
  (theme, random) => `Was it the ${pick(theme.people, random)} who ${deed(theme, random)}?`,
]

/** Paragraphs, with an empty line between them. */
export function prose(theme: Theme, random: Chance): string {
  const paragraphs = Array.from({ length: between(2, 14, random) }, () =>
    Array.from({ length: between(2, 7, random) }, () => pick(SENTENCES, random)(theme, random)),
  )
  return `${paragraphs.map((sentences) => sentences.join(' ')).join('\n\n')}\n`
}

/** For the name of a file. */
export function title(theme: Theme, random: Chance): string {
  return `the-${pick(QUALITIES.filter(isPlain), random)}-${pick(theme.things.filter(isPlain), random)}`
}

function actor(theme: Theme, random: Chance): string {
  return `The ${pick(QUALITIES, random)} ${pick(theme.people, random)}`
}

function deed(theme: Theme, random: Chance): string {
  return `${pick(DEEDS, random)} the ${pick(QUALITIES, random)} ${pick(theme.things, random)}`
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function isPlain(word: string): boolean {
  return /^[a-z-]+$/.test(word)
}
