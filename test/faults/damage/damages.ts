/**
 * The ways in which a log is damaged: what is done to a copy of the sample, and what may be
 * missing afterwards.
 */
import { contentEnd } from '../../../src/log/format/format.ts'
import { replaceMark } from '../../../src/log/segments/durable-mark.ts'
import type { SimDisk } from '../sim/sim-disk.ts'
import type { Sample, Span } from './sample-log.ts'
import { MARK } from './sample-log.ts'
import { FOLDER } from './setting.ts'

export interface Damage {
  readonly name: string
  /** Bytes are gone, so entries behind the mark may be. Otherwise none may. */
  readonly removes: boolean
  readonly apply: (disk: SimDisk) => void | Promise<void>
}

function* sampled(from: number, to: number, step: number): Generator<number> {
  for (let at = from; at < to; at += step) yield at
}

/** Cuts each file to every length; where it is zeros to the end, to fewer of them. */
export function* truncations({ disk }: Sample, step: number): Generator<Damage> {
  for (const file of disk.paths()) {
    const bytes = disk.bytesOf(file)
    const end = contentEnd(bytes, 0)
    for (const length of [...sampled(0, end + 1, step), ...sampled(end, bytes.length, step * 8)]) {
      yield {
        name: `${file} cut to ${length} bytes`,
        removes: true,
        apply: (copy) => copy.put(file, bytes.subarray(0, length)),
      }
    }
  }
}

function flip(file: string, bytes: Buffer, bit: number): Damage {
  const at = bit >> 3
  return {
    name: `bit ${bit % 8} of byte ${at} of ${file} flipped`,
    removes: false,
    apply: (copy) => copy.patch(file, at, Buffer.of((bytes[at] as number) ^ (1 << (bit % 8)))),
  }
}

/** Flips bits of what was written: all but long stretches of zeros. */
export function* flips({ disk }: Sample, step: number): Generator<Damage> {
  for (const file of disk.paths()) {
    const bytes = disk.bytesOf(file)
    for (const bit of sampled(0, bytes.length * 8, step)) {
      if (!isInZeros(bytes, bit >> 3)) yield flip(file, bytes, bit)
    }
  }
}

/** Flips bits where nothing was written. */
export function* flipsInZeros({ disk }: Sample, step: number): Generator<Damage> {
  for (const file of disk.paths()) {
    const bytes = disk.bytesOf(file)
    for (const bit of sampled(0, bytes.length * 8, step)) {
      if (isInZeros(bytes, bit >> 3)) yield flip(file, bytes, bit)
    }
  }
}

/** The whole neighbourhood is zeros. */
function isInZeros(bytes: Buffer, at: number): boolean {
  const start = at - (at % 64)
  return bytes.subarray(start, start + 64).every((byte) => byte === 0)
}

/** Zeros each block of each file that is not zeros yet. */
export function* zeroedBlocks({ disk }: Sample, size: number): Generator<Damage> {
  for (const file of disk.paths()) {
    const bytes = disk.bytesOf(file)
    for (let at = 0; at < bytes.length; at += size) {
      const block = bytes.subarray(at, at + size)
      if (block.every((byte) => byte === 0)) continue
      yield {
        name: `${block.length} bytes zeroed at ${at} of ${file}`,
        removes: true,
        apply: (copy) => copy.patch(file, at, Buffer.alloc(block.length)),
      }
    }
  }
}

/** Swaps every two of the same size in one file. */
export function* swaps({ disk, groups, records }: Sample): Generator<Damage> {
  for (const spans of [groups, records]) {
    for (const [i, one] of spans.entries()) {
      for (const other of spans.slice(i + 1)) {
        if (one.file !== other.file || one.to - one.from !== other.to - other.from) continue
        const bytes = disk.bytesOf(one.file)
        const [first, second] = [one, other].map(({ from, to }) => bytes.subarray(from, to))
        yield {
          name: `${one.from} and ${other.from} of ${one.file} swapped`,
          removes: false,
          apply: (copy) => {
            copy.patch(one.file, one.from, second as Buffer)
            copy.patch(one.file, other.from, first as Buffer)
          },
        }
      }
    }
  }
}

/** Groups that come again behind the end, and groups that are taken out. */
export function* moved({ disk, groups }: Sample): Generator<Damage> {
  const last = groups.at(-1) as Span
  for (const group of groups) {
    const bytes = disk.bytesOf(group.file)
    const own = bytes.subarray(group.from, group.to)
    for (const gap of [0, 64, 512, 4_096]) {
      yield {
        name: `the group at ${group.from} of ${group.file} repeated ${gap} bytes behind the end`,
        removes: false,
        apply: (copy) => copy.patch(last.file, last.to + gap, own),
      }
    }
    const isLast = group === last
    const rest = Buffer.concat([bytes.subarray(group.to), Buffer.alloc(own.length)])
    yield {
      name: `the group at ${group.from} of ${group.file} taken out`,
      // In an older segment, what comes after its last group proves that it was there.
      removes: isLast,
      apply: (copy) => copy.patch(group.file, group.from, rest),
    }
  }
}

/** Whole files gone, doubled or exchanged. */
export function* files({ disk, segments, marks }: Sample): Generator<Damage> {
  for (const file of [...segments, MARK]) {
    yield { name: `${file} deleted`, removes: true, apply: (copy) => copy.remove(file) }
  }
  for (const file of segments) {
    const other = `${file.slice(0, -1)}f`
    yield {
      name: `${file} doubled as ${other}`,
      removes: false,
      apply: (copy) => copy.put(other, disk.bytesOf(file)),
    }
    for (const second of segments.filter((one) => one > file)) {
      yield {
        name: `${file} and ${second} exchanged`,
        removes: false,
        apply: (copy) => {
          copy.put(file, disk.bytesOf(second))
          copy.put(second, disk.bytesOf(file))
        },
      }
    }
  }
  for (const [i, mark] of marks.entries()) {
    yield {
      name: `the mark as it was after group ${i}`,
      removes: false,
      apply: (copy) => copy.put(MARK, mark),
    }
  }
  yield {
    name: 'the mark of another store',
    removes: false,
    apply: (copy) => replaceMark(copy, FOLDER, 'f'.repeat(32), 8),
  }
}
