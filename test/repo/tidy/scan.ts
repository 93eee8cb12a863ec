/**
 * Reads TypeScript as text: which parts are code, what is imported, where a block ends.
 *
 * Not a parser. It knows comments, strings, templates and regular expressions, which is enough
 * to never take a word in a comment or a brace in a string for code.
 */

/** Where a slash begins a regular expression rather than a division: after one of these. */
const BEFORE_EXPRESSION = /(?:^|[=([{}!&|?:;,+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|await))$/

/**
 * The text with comments and the insides of strings blanked out. Every character keeps its
 * place and every line break stays, so a position in the result is a position in the text.
 */
export function codeOf(text: string): string {
  const out = text.split('')
  blank(text, out, 0, false)
  return out.join('')
}

/** Blanks from `start` on; inside a template's `${…}` it stops at the closing brace. */
function blank(text: string, out: string[], start: number, inTemplate: boolean): number {
  let depth = 0
  let before = ''
  let i = start
  while (i < text.length) {
    const c = text[i] as string
    const end = endOfLiteral(text, out, i, before)
    if (end > i) {
      // A literal is a value: a slash after it divides. A comment is nothing.
      if (!(c === '/' && (text[i + 1] === '/' || text[i + 1] === '*'))) before = 'x'
      i = end
      continue
    }
    if (c === '{') depth += 1
    if (c === '}') {
      if (inTemplate && depth === 0) return i
      depth -= 1
    }
    if (!/\s/.test(c)) before = (before + c).slice(-10)
    else if (/\w$/.test(before)) before = `${before} `.slice(-10)
    i += 1
  }
  return i
}

/** Blanks the comment or literal that begins here and says where it ends; or `i`, if none does. */
function endOfLiteral(text: string, out: string[], i: number, before: string): number {
  const c = text[i]
  if (c === '/' && text[i + 1] === '/') return erase(text, out, i, lineEnd(text, i))
  if (c === '/' && text[i + 1] === '*') {
    const end = text.indexOf('*/', i + 2)
    return erase(text, out, i, end < 0 ? text.length : end + 2)
  }
  if (c === "'" || c === '"') {
    const end = closing(text, i, c)
    return erase(text, out, i + 1, end) + 1
  }
  if (c === '`') return blankTemplate(text, out, i + 1)
  if (c === '/' && BEFORE_EXPRESSION.test(before.trimEnd())) {
    const end = regularExpressionEnd(text, i)
    return erase(text, out, i + 1, end) + 1
  }
  return i
}

function erase(text: string, out: string[], from: number, to: number): number {
  for (let i = from; i < to && i < text.length; i++) if (text[i] !== '\n') out[i] = ' '
  return to
}

function lineEnd(text: string, i: number): number {
  const end = text.indexOf('\n', i)
  return end < 0 ? text.length : end
}

function closing(text: string, start: number, quote: string): number {
  let i = start + 1
  while (i < text.length && text[i] !== quote && text[i] !== '\n') i += text[i] === '\\' ? 2 : 1
  return i
}

function regularExpressionEnd(text: string, start: number): number {
  let inClass = false
  let i = start + 1
  while (i < text.length && text[i] !== '\n' && (inClass || text[i] !== '/')) {
    if (text[i] === '\\') i += 1
    else if (text[i] === '[') inClass = true
    else if (text[i] === ']') inClass = false
    i += 1
  }
  return i
}

function blankTemplate(text: string, out: string[], start: number): number {
  let i = start
  while (i < text.length && text[i] !== '`') {
    if (text[i] === '\\') {
      erase(text, out, i, i + 2)
      i += 2
    } else if (text[i] === '$' && text[i + 1] === '{') {
      i = blank(text, out, i + 2, true) + 1
    } else {
      erase(text, out, i, i + 1)
      i += 1
    }
  }
  return i + 1
}

export interface Import {
  readonly specifier: string
  readonly line: number
}

const IMPORT = /\b(?:from|import|require)\s*\(?\s*(['"])/g

/** Every module that a file names: static, dynamic, re-exported or imported for its types. */
export function importsOf(text: string): Import[] {
  const code = codeOf(text)
  return [...code.matchAll(IMPORT)].map((match) => {
    const start = match.index + match[0].length
    const end = code.indexOf(match[1] as string, start)
    return { specifier: text.slice(start, end), line: lineOf(code, match.index) }
  })
}

export function lineOf(text: string, position: number): number {
  let line = 1
  for (let i = 0; i < position; i++) if (text[i] === '\n') line += 1
  return line
}

export interface Block {
  /** The line of the opening brace. */
  readonly line: number
  readonly lines: number
}

/** What comes before the brace of a class, an interface or the like. */
const TYPE_HEADER = /\b(?:class|interface|enum|namespace|module)\b[^{}()]*$/
/** What comes before the brace of an object literal, a type literal or a list of names. */
const DATA_HEADER = /(?:[=(,:[?&|<]|\b(?:return|satisfies|as|export|import|type|is|keyof))\s*$/

/**
 * The bodies of functions, and the statements within them. A concise arrow that gives back a
 * parenthesised expression counts as a body too.
 */
export function functionBlocks(text: string): Block[] {
  const code = codeOf(text)
  const blocks: Block[] = []
  const open: { readonly at: number; readonly isBody: boolean }[] = []
  for (let i = 0; i < code.length; i++) {
    const c = code[i]
    if (c === '{' || c === '(') {
      open.push({ at: i, isBody: isBody(code, i) })
    } else if (c === '}' || c === ')') {
      const block = open.pop()
      if (block?.isBody !== true) continue
      const line = lineOf(code, block.at)
      blocks.push({ line, lines: lineOf(code, i) - line + 1 })
    }
  }
  return blocks
}

function isBody(code: string, at: number): boolean {
  const header = code.slice(Math.max(0, at - 400), at)
  if (/=>\s*$/.test(header)) return true
  if (code[at] === '(') return false
  return !DATA_HEADER.test(header) && !TYPE_HEADER.test(header)
}
