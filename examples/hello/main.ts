/** A first job: defined, submitted, worked on. In your own project the import is from 'pawl'. */
import { job, open, typed } from '../../src/index.ts'

const greet = job('greet', {
  input: typed<{ name: string }>(), // or any Standard Schema: zod, valibot, arktype
  retry: { max: 5, backoff: 'exponential' },
  async run({ input, step }) {
    const greeting = await step('look-up', () => 'Hello') // recorded: not done twice
    return `${greeting}, ${input.name}!`
  },
})

const pawl = await open('./data') // a directory; made if it is not there
const handle = await pawl.submit(greet, { name: 'Ada' }) // durable now
pawl.work([greet])
const text = await handle.result() // a string, and the compiler knows
console.log(text)
await pawl.close()
