/**
 * Values of users to JSON text, and back.
 *
 * What a handler gets tomorrow must equal what was given today. `JSON.stringify` does not see to
 * that: it turns a Map into `{}`, NaN into null and a Date into a text, and says nothing. Here
 * such a value is refused, with the path to it and what to do instead.
 *
 * The text is written by hand, not by a check and `JSON.stringify` after it: each value is read
 * once, so a getter or a Proxy cannot show one thing to the check and another to the writer, and
 * a patched `toJSON` of another library has no say.
 *
 * Left out, as JSON does: properties that are undefined, whatever their key, and those that are not
 * enumerable, which is done on purpose. What has a symbol for a key, and a property of a list
 * beside its elements, would be left out by JSON, too. They look like data, so they are refused.
 */
import { types } from 'node:util'
import { LIMITS, PawlError } from '../kernel/index.ts'

/** Nested deeper than this is a mistake, usually a cycle that makes new objects as it goes. */
const DEEPEST = 200
/** Text is counted so far when it is too long, so that the message can say its size. */
const COUNTED_CHARS = 4 * LIMITS.payloadChars
/** Shorter ones cost less than a look. */
const LONG_TEXT = 64 * 1_024
/** Of a path: how many parts at its beginning and at its end, and how much of each key. */
const PATH_PARTS = 20
const KEY_CHARS = 64
const REASON_CHARS = 200

/** A value that JSON cannot carry there and back. */
export class UnserializableValue extends PawlError {
  constructor(what: string, path: string, wrong: NotJson, cause?: unknown) {
    const { problem, remedy } = wrong
    super(
      'UnserializableValue',
      'rejected',
      `${sentence(what)} cannot be stored: ${path} ${problem}. ${remedy}`,
      { what, path, problem },
      cause,
    )
  }
}

/** A stored payload that `toJson` did not write. */
export class UnreadablePayload extends PawlError {
  constructor(what: string, problem: string, cause?: unknown) {
    super(
      'UnreadablePayload',
      'corrupt',
      `${sentence(what)} cannot be read: ${problem}. Pawl writes no such payload: find out who submitted it, and submit it again in the right form.`,
      { what, problem },
      cause,
    )
  }
}

/** What is wrong with a value (it follows its path), and what to do. */
interface NotJson {
  readonly problem: string
  readonly remedy: string
}

/**
 * The value as JSON text; undefined, as of a handler that returns nothing, is `null`.
 *
 * @param what for the message: 'the input of job invoice'
 * @param root what the path to an offending value begins with: 'input'
 */
export function toJson(value: unknown, what: string, root: string): string {
  if (value === undefined) return 'null'
  const quick = quickText(value)
  if (quick !== null) return quick
  const writer = new JsonWriter(root)
  try {
    writer.write(value)
  } catch (error) {
    const { path, wrong } = writer
    if (wrong !== null) throw new UnserializableValue(what, path, wrong)
    // The user's code was run, and threw: a getter, or a trap of a Proxy.
    throw new UnserializableValue(what, path, wrongRead(reasonOf(error)), error)
  }
  const { text } = writer
  if (text.length > LIMITS.payloadChars) {
    throw new UnserializableValue(what, root, wrongSize(`${text.length}`))
  }
  return text.length < LONG_TEXT ? text : inOnePiece(text)
}

/** Values in what is written quickly, and characters of its texts. */
const MOST_QUICK = 1_000
const MOST_QUICK_CHARS = 16 * 1_024
const DEEPEST_QUICK = 20

/**
 * Small plain data, as nearly all is: copied once, so that what is checked is what is written, and the copy written by
 * `JSON.stringify`. Null: it is something else, or wrong, and `JsonWriter` says what.
 */
function quickText(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  try {
    const copy = plainCopy(value, {
      values: MOST_QUICK,
      chars: MOST_QUICK_CHARS,
      depth: DEEPEST_QUICK,
    })
    return copy === null ? null : JSON.stringify(copy)
  } catch {
    // The user's code was run, and threw.
    return null
  }
}

interface Left {
  values: number
  chars: number
  depth: number
}

/** Null: not all of it is plain data, or it is too much. */
function plainCopy(given: object, left: Left): object | null {
  if (left.depth === 0 || types.isProxy(given) || 'toJSON' in given) return null
  left.depth -= 1
  const copy = Array.isArray(given) ? plainList(given, left) : plainRecord(given, left)
  left.depth += 1
  return copy
}

function plainRecord(given: object, left: Left): object | null {
  if (Object.getPrototypeOf(given) !== Object.prototype) return null
  const copy: Record<string, unknown> = { ...given }
  if (Object.getOwnPropertySymbols(copy).length > 0) return null
  for (const key in copy) {
    const value = copy[key]
    if (key === '__proto__') return null
    left.chars -= key.length
    if (value === undefined || isPlainValue(value, left)) continue
    if (typeof value !== 'object' || value === null) return null
    const inner = plainCopy(value, left)
    if (inner === null) return null
    copy[key] = inner
  }
  return copy
}

function plainList(given: readonly unknown[], left: Left): object | null {
  if (Object.getPrototypeOf(given) !== Array.prototype || given.length > left.values) return null
  if (Object.keys(given).length !== given.length) return null
  const copy = given.slice()
  if (Object.getOwnPropertySymbols(given).length > 0) return null
  for (let i = 0; i < copy.length; i++) {
    const value = copy[i]
    if (isPlainValue(value, left)) continue
    if (typeof value !== 'object' || value === null) return null
    const inner = plainCopy(value, left)
    if (inner === null) return null
    copy[i] = inner
  }
  return copy
}

/** A value that is no object, and as JSON has it. */
function isPlainValue(value: unknown, left: Left): boolean {
  left.values -= 1
  if (left.values < 0 || left.chars < 0) return false
  switch (typeof value) {
    case 'string':
      left.chars -= value.length
      return left.chars >= 0
    case 'number':
      return Number.isFinite(value)
    case 'boolean':
      return true
    default:
      return value === null
  }
}

/**
 * A text that was put together is a tree of its pieces, which the first look into it makes one piece.
 * That is now, while a quick collection frees the pieces: when the text has waited for its turn, they
 * would stay until a full one, and it would take its memory twice.
 */
function inOnePiece(text: string): string {
  return text.charCodeAt(0) === 0 ? '' : text
}

/** What `toJson` wrote. Payloads that came in another way are read too, if they do no harm. */
export function fromJson(text: string, what = 'a stored payload'): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new UnreadablePayload(what, `it is not JSON (${reasonOf(error)})`, error)
  }
  // Escapes can spell the name, too; only a text that may have it is searched.
  if (/__proto__|\\u005f/i.test(text) && hasProtoKey(value)) {
    throw new UnreadablePayload(what, `it has an object with a key '__proto__'`)
  }
  return value
}

/** Without recursion: `JSON.parse` reads what is nested deeper than the stack can follow. */
function hasProtoKey(value: unknown): boolean {
  const left = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (typeof next !== 'object' || next === null) continue
    if (Object.hasOwn(next, '__proto__')) return true
    for (const inner of Object.values(next)) left.push(inner)
  }
  return false
}

/** Keys as they are written, with their colons: jobs of a type have the same ones every time. */
const KNOWN_KEYS = new Map<string, string>()
const MOST_KNOWN_KEYS = 1_000
/** Longer ones are not remembered. */
const SHORT_KEY = 40

/** An object or a list on the way to the value that is being written. */
interface Level {
  readonly holder: object
  readonly above: Level | null
  readonly depth: number
  /** Which of its values; null: none yet. */
  key: string | number | symbol | null
}

class JsonWriter {
  text = ''
  /** Why the writer itself stopped; it says so here, because user code can throw anything. */
  wrong: NotJson | null = null
  readonly #root: string
  /** Where it is; null: at the root. */
  #level: Level | null = null

  constructor(root: string) {
    this.#root = root
  }

  /** Where the writer is, or was when something was thrown. */
  get path(): string {
    return this.#pathAt(this.#level)
  }

  /** `lead` comes before the value: to add one text costs less than to add both. */
  write(value: unknown, lead = ''): void {
    switch (typeof value) {
      case 'string':
        this.#assertRoom(value.length)
        this.text += lead + JSON.stringify(value)
        return
      case 'number':
        if (!Number.isFinite(value)) this.#refuse(wrongNumber(value))
        this.text += lead + value
        return
      case 'boolean':
        this.text += lead + (value ? 'true' : 'false')
        return
      case 'object':
        if (value === null) this.text += lead + 'null'
        else if (Array.isArray(value)) this.#list(value, lead)
        else this.#record(value as Readonly<Record<string, unknown>>, lead)
        return
      default:
        this.#refuse(wrongPrimitive(value))
    }
  }

  #list(list: readonly unknown[], lead: string): void {
    // In every realm the prototype of arrays is an array itself, and that of a class is not.
    if (!Array.isArray(Object.getPrototypeOf(list))) this.#refuse(wrongInstance(list))
    const level = this.#enter(list)
    const keys = Object.keys(list)
    // Those of elements come first. If some are missing instead, the holes are found below.
    for (let i = list.length; i < keys.length; i++) {
      this.#assertEmpty(level, keys[i] as string, WRONG_EXTRA)
    }
    this.text += lead + '['
    for (let i = 0; i < list.length; i++) {
      level.key = i
      this.#assertRoom(1)
      const element = list[i]
      if (element === undefined) this.#refuse(i in list ? WRONG_ELEMENT : WRONG_HOLE)
      this.write(element, i === 0 ? '' : ',')
    }
    this.text += ']'
    this.#level = level.above
  }

  #record(record: Readonly<Record<string, unknown>>, lead: string): void {
    if (!isPlain(record)) this.#refuse(wrongInstance(record))
    const level = this.#enter(record)
    this.text += lead + '{'
    let separator = ''
    for (const key of Object.keys(record)) {
      level.key = key
      this.#assertRoom(1)
      const name = this.#name(key)
      const value = record[key]
      if (value === undefined) continue
      this.write(value, separator + name)
      separator = ','
    }
    this.text += '}'
    this.#level = level.above
  }

  #name(key: string): string {
    const known = KNOWN_KEYS.get(key)
    if (known !== undefined) return known
    if (key === '__proto__') this.#refuse(WRONG_KEY)
    this.#assertRoom(key.length)
    const name = `${JSON.stringify(key)}:`
    if (key.length <= SHORT_KEY) {
      if (KNOWN_KEYS.size === MOST_KNOWN_KEYS) KNOWN_KEYS.clear()
      KNOWN_KEYS.set(key, name)
    }
    return name
  }

  /** Goes down into the holder, whose level is left when it is written. */
  #enter(holder: object): Level {
    const above = this.#level
    for (let one = above; one !== null; one = one.above) {
      if (one.holder === holder) this.#refuse(wrongCycle(this.#pathAt(one.above)))
    }
    const depth = above === null ? 0 : above.depth + 1
    if (depth === DEEPEST) this.#refuse(WRONG_DEPTH)
    const { toJSON } = holder as { readonly toJSON?: unknown }
    if (typeof toJSON === 'function' && Object.hasOwn(holder, 'toJSON')) {
      this.#refuse(WRONG_TO_JSON)
    }
    const symbols = Object.getOwnPropertySymbols(holder)
    const level: Level = { holder, above, depth, key: null }
    this.#level = level
    for (const key of symbols) {
      const isShown = Object.prototype.propertyIsEnumerable.call(holder, key)
      if (isShown) this.#assertEmpty(level, key, WRONG_SYMBOL)
    }
    return level
  }

  /** What would be left out must be undefined, as it may be under any other key. */
  #assertEmpty(level: Level, key: string | symbol, wrong: NotJson): void {
    level.key = key
    if ((level.holder as Readonly<Record<string | symbol, unknown>>)[key] !== undefined) {
      this.#refuse(wrong)
    }
    level.key = null
  }

  /** Bounds the work, too: what is shared is written each time that it is met. */
  #assertRoom(chars: number): void {
    if (this.text.length + chars <= COUNTED_CHARS) return
    this.#level = null
    this.#refuse(wrongSize(`more than ${COUNTED_CHARS}`))
  }

  #refuse(wrong: NotJson): never {
    this.wrong = wrong
    throw wrong
  }

  #pathAt(level: Level | null): string {
    const parts: string[] = []
    for (let one = level; one !== null; one = one.above) {
      if (one.key !== null) parts.unshift(partOf(one.key))
    }
    if (parts.length > 2 * PATH_PARTS) parts.splice(PATH_PARTS, parts.length - 2 * PATH_PARTS, '…')
    return this.#root + parts.join('')
  }
}

function sentence(what: string): string {
  return what.charAt(0).toUpperCase() + what.slice(1)
}

function partOf(key: string | number | symbol): string {
  if (typeof key === 'number') return `[${key}]`
  if (typeof key === 'symbol') return `[Symbol(${(key.description ?? '').slice(0, KEY_CHARS)})]`
  if (/^[\p{ID_Start}_$][\p{ID_Continue}$]{0,63}$/u.test(key)) return `.${key}`
  return `[${JSON.stringify(key.slice(0, KEY_CHARS))}${key.length > KEY_CHARS ? '…' : ''}]`
}

/** Also of another realm (a vm context, a test runner's): there the root has the same methods. */
function isPlain(record: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(record)
  if (prototype === Object.prototype || prototype === null) return true
  return Object.hasOwn(prototype as object, 'isPrototypeOf')
}

const WRONG_ELEMENT: NotJson = {
  problem: 'is undefined, and would come back as null',
  remedy: 'Put null there, or leave the element out.',
}
const WRONG_HOLE: NotJson = {
  problem: 'is a hole in a sparse array',
  remedy: 'Fill it with null, or store an object with the indexes as keys.',
}
const WRONG_KEY: NotJson = {
  problem: `is a key named '__proto__'`,
  remedy: 'Give it another name: that one can change what an object inherits.',
}
const WRONG_SYMBOL: NotJson = {
  problem: 'is a key that is a symbol, and would be left out',
  remedy: 'Name it by a text. What is not meant to be stored can be made not enumerable.',
}
const WRONG_EXTRA: NotJson = {
  problem: 'is a property of a list beside its elements, and would be left out',
  remedy: 'Store an object that has the list and the property, e.g. { rows, total }.',
}
const WRONG_TO_JSON: NotJson = {
  problem: 'has its own toJSON',
  remedy: 'Call it, and store what it returns.',
}
const WRONG_DEPTH: NotJson = {
  problem: `is nested deeper than ${DEEPEST} levels`,
  remedy: 'Store a flatter form, e.g. a list whose elements name each other by id.',
}

function wrongCycle(again: string): NotJson {
  return {
    problem: `is ${again} again: a cycle`,
    remedy: 'Store ids instead of objects that refer to each other.',
  }
}

function wrongSize(chars: string): NotJson {
  return {
    problem: `is ${chars} characters long as JSON, and at most ${LIMITS.payloadChars} are allowed`,
    remedy: 'Put large data elsewhere (a file, an object store) and store its address.',
  }
}

function wrongRead(reason: string): NotJson {
  return {
    problem: `cannot be read: ${reason}`,
    remedy: 'Store plain data, without getters or proxies that throw.',
  }
}

function wrongNumber(value: number): NotJson {
  return {
    problem: `is ${value}, which JSON does not have`,
    remedy: 'Store null, or a text that your schema turns back.',
  }
}

function wrongPrimitive(value: unknown): NotJson {
  switch (typeof value) {
    case 'bigint':
      return {
        problem: 'is a bigint, which JSON does not have',
        remedy:
          'Store its text, String(value), and let the schema turn it back: z.coerce.bigint().',
      }
    case 'function':
      return {
        problem: 'is a function',
        remedy: 'Store data; keep functions in the handler. Was it meant to be called?',
      }
    default:
      return { problem: 'is a symbol', remedy: 'Store a text, e.g. its description.' }
  }
}

/** The classes that are met most often, each with what to store instead. */
const INSTANCES: readonly (readonly [
  is: (value: object) => boolean,
  what: string,
  remedy: string,
])[] = [
  [
    types.isDate,
    'a Date',
    'Store date.toISOString() and let the schema turn it back, e.g. z.coerce.date().',
  ],
  [types.isMap, 'a Map', 'Store [...map], or Object.fromEntries(map), and make a Map of it again.'],
  [types.isSet, 'a Set', 'Store [...set], and make a Set of it again.'],
  [
    (value) => ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value),
    'binary data',
    `Store base64 text, e.g. Buffer.from(value).toString('base64').`,
  ],
  [types.isRegExp, 'a RegExp', 'Store its source and flags.'],
  [
    types.isNativeError,
    'an Error',
    'Throw it, or store what matters of it, e.g. { message: error.message }.',
  ],
  [types.isPromise, 'a Promise', 'Await it first.'],
  [types.isBoxedPrimitive, 'a boxed primitive', 'Store value.valueOf().'],
]

function wrongInstance(value: object): NotJson {
  for (const [is, what, remedy] of INSTANCES) {
    if (is(value)) return { problem: `is ${what}`, remedy }
  }
  const name = classOf(value)
  return {
    problem: name === '' ? 'is not a plain object' : `is an instance of ${name}`,
    remedy: 'Store a plain object with the fields that are needed, and make the instance again.',
  }
}

function classOf(value: object): string {
  const { name } = (value.constructor ?? {}) as { readonly name?: unknown }
  return typeof name === 'string' ? name.slice(0, KEY_CHARS) : ''
}

/** What was thrown may be anything, and may throw again when it is looked at. */
function reasonOf(error: unknown): string {
  try {
    const reason = error instanceof Error ? error.message : error
    return String(reason).slice(0, REASON_CHARS)
  } catch {
    return 'what was thrown cannot be shown'
  }
}
