/**
 * A process whose last connection is a listener that sends a second notification before the first one is
 * answered: the process must not end before the listener is closed.
 */
import { PostgresListener } from '../../src/store/sql/postgres/notifier.ts'

const heard = new Promise<void>((resolve) => {
  const listener = new PostgresListener({
    url: process.argv[2] ?? '',
    channel: 'closing',
    onGap: () => undefined,
    onNotification: (payload) => {
      if (payload !== 'first') return
      listener.notify('second')
      void listener.close().then(resolve)
    },
  })
  void listener.listen().then(() => listener.notify('first'))
})
await heard
console.log('closed')
