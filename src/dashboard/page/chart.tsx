/**
 * A line over the newest samples, without axes: the number beside it says where it stands.
 */

const WIDTH = 120
const HEIGHT = 28

export function Sparkline({
  values,
  label,
}: {
  readonly values: readonly number[]
  /** Left out: what stands beside it says where it stands. */
  readonly label?: string
}) {
  const most = Math.max(1e-9, ...values)
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map((one, i) => {
    const y = HEIGHT - 2 - (one / most) * (HEIGHT - 4)
    return `${(i * step).toFixed(1)},${y.toFixed(1)}`
  })
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      {...named(label)}
    >
      {values.length > 1 && (
        <>
          <polygon points={`0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`} />
          <polyline points={points.join(' ')} />
        </>
      )}
    </svg>
  )
}

function named(label: string | undefined): object {
  return label === undefined ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': label }
}

/** A bar of parts, each as wide as its share. */
export function ShareBar({
  parts,
  label,
}: {
  readonly parts: readonly { readonly name: string; readonly count: number }[]
  readonly label: string
}) {
  const total = parts.reduce((sum, { count }) => sum + count, 0)
  let x = 0
  return (
    <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label={label}>
      {total === 0
        ? null
        : parts.map(({ name, count }) => {
            const width = (count / total) * 100
            const from = x
            x += width
            return (
              <rect key={name} class={`fill-${name}`} x={from} y={0} width={width} height={4} />
            )
          })}
    </svg>
  )
}
