/**
 * A channel as an index has it: a number. Texts are long, and an index whose first column is one has to
 * be walked through to find the others. Two channels may have the same lane: whoever looks for one asks for
 * the channel as well.
 */
export function channelHash(channel: string): string {
  return `hashtextextended(${channel}, 0)`
}

/** Rows `x` of a channel. */
export function inChannel(channel: string): string {
  return `${channelHash('x.channel')} = ${channelHash(channel)} and x.channel = ${channel}`
}
