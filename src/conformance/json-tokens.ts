/**
 * Two JSON texts mean the same: the same numbers, digit by digit, and the same texts, however they are escaped and spaced.
 * Parsing them would make the same number of two that differ beyond 2 ** 53.
 */

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/g

export function meansTheSame(a: string, b: string): boolean {
  const [own, other] = [tokensOf(a), tokensOf(b)]
  return own.length === other.length && own.every((token, i) => token === other[i])
}

function tokensOf(text: string): string[] {
  return [...text.matchAll(TOKEN)].map(([token]) => {
    if (token.startsWith('"')) return JSON.stringify(JSON.parse(token))
    return /^-?\d+$/.test(token) ? BigInt(token).toString() : token
  })
}
