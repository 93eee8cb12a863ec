/**
 * Whole rows of `work`: all columns, in one order.
 */
import { CHANGING, FIXED } from '../statements.ts'

export const COLUMNS = [...FIXED, ...CHANGING] as const
export type Column = (typeof COLUMNS)[number]
/** Where each column stands in a whole row. */
export const AT = Object.fromEntries(COLUMNS.map((column, i) => [column, i])) as Readonly<
  Record<Column, number>
>
