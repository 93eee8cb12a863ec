/**
 * The source documents as tables of `docs/model.md`: their names, what they ask for with the tests that
 * hold it and the stores that those run on, the questions that they leave open, and where Pawl departs.
 */
import type { SourceFile } from '../tidy/rules.ts'
import { readTree } from '../tidy/tree.ts'
import { mono, table } from './blocks.ts'
import { DEPARTURES } from './sources/departures.ts'
import { SOURCES } from './sources/index.ts'
import type { SourceDocument } from './sources/source-document.ts'
import type { TestName } from './sources/tests.ts'
import { TESTS } from './sources/tests.ts'
import { storesOf, storesText } from './test-stores.ts'

/** A line for each test. */
function testsText(names: readonly TestName[]): string {
  return names.map((name) => `${mono(TESTS[name].file)}: “${TESTS[name].name}”`).join('<br/>')
}

function storesTextOf(names: readonly TestName[], tree: readonly SourceFile[]): string {
  return storesText(names.flatMap((name) => storesOf(TESTS[name], tree)))
}

function nameTable({ names }: SourceDocument): string {
  return table(
    ['Name there', 'Kind', 'Here', 'Note'],
    names.map(([name, kind, here, note]) => [name, kind, here, note ?? '']),
  )
}

function demandTable({ demands }: SourceDocument, tree: readonly SourceFile[]): string {
  const rows = Object.entries(demands).flatMap(([where, asked]) =>
    asked.map(([asks, heldBy, departure]) => [
      where,
      asks,
      testsText(heldBy),
      storesTextOf(heldBy, tree),
      departure ?? '',
    ]),
  )
  return table(['Section', 'Asks for', 'Held by', 'Stores', 'Otherwise here'], rows)
}

function questionTable(
  questions: NonNullable<SourceDocument['questions']>,
  tree: readonly SourceFile[],
): string {
  return table(
    ['Question', 'Answer', 'Held by', 'Stores'],
    questions.map(([question, answer, heldBy]) => [
      question,
      answer,
      testsText(heldBy),
      storesTextOf(heldBy, tree),
    ]),
  )
}

function documentText(source: SourceDocument, tree: readonly SourceFile[]): string {
  const { number, title, questions } = source
  const parts = [
    `### ${title} (${number})`,
    '**Its names**',
    nameTable(source),
    '**What it asks for**',
    demandTable(source, tree),
  ]
  if (questions !== undefined) {
    parts.push('**Questions that it leaves open**', questionTable(questions, tree))
  }
  return parts.join('\n\n')
}

export function sourceTables(): string {
  const tree = readTree()
  return SOURCES.map((source) => documentText(source, tree)).join('\n\n')
}

export function departureTable(): string {
  return table(
    ['They say', 'Here', 'Why', 'Held by'],
    DEPARTURES.map(([says, here, why, heldBy]) => [says, here, why, testsText(heldBy)]),
  )
}
