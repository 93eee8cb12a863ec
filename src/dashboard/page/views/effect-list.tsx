/**
 * Effects that a commit promised, with what became of each.
 */
import { Text } from '../parts.tsx'

interface ListedEffect {
  readonly name: string
  readonly state: string
  readonly error: { readonly code: string; readonly message: string } | null
}

export function EffectList({ effects }: { readonly effects: readonly ListedEffect[] }) {
  return (
    <ul>
      {effects.map(({ name, state, error }, i) => (
        <li key={i}>
          <Text text={name} /> <span class={`effect effect-${state}`}>{state}</span>{' '}
          {error !== null && <Text text={`${error.code}: ${error.message}`} />}
        </li>
      ))}
    </ul>
  )
}
