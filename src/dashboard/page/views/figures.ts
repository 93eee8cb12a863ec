/**
 * Figures over time, as the server has noted them of all processes, asked for again and again.
 */
import type { FigureRange, Figures } from '../../../protocol/index.ts'
import { call } from '../api.ts'
import type { Live } from '../live.ts'
import { useLive } from '../live.ts'
import { may } from '../session.ts'

const LIVE_MS = 2_000
/** Of a longer time, what is new is a small part. */
const CALM_MS = 10_000

/** Null: the reader may not ask. */
export async function askFigures(range: FigureRange, ended: AbortSignal): Promise<Figures | null> {
  return may('figures') ? call('figures', { range }, ended) : null
}

export function useFigures(range: FigureRange): Live<Figures | null> {
  const ask = (ended: AbortSignal): Promise<Figures | null> => askFigures(range, ended)
  return useLive(`figures ${range}`, ask, range === '15m' ? LIVE_MS : CALM_MS)
}
