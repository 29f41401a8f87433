import type { Log } from './log.ts'

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const

/**
 * Until disposed: what nobody caught, in a timer or a promise, is logged as every other error is, and the process ends
 * with 1, since nobody knows what was left half done. Node would print it whole.
 *
 * SIGUSR1 would open Node's debugger, which can read every secret of the process; here it does nothing.
 */
export function installLastResort(log: Log): Disposable {
  const end = (error: unknown) => {
    log.error('nobody caught this error: the process ends', { error })
    process.exit(1)
  }
  const ignore = () => undefined
  for (const event of EVENTS) process.on(event, end)
  process.on('SIGUSR1', ignore)
  return {
    [Symbol.dispose]() {
      for (const event of EVENTS) process.off(event, end)
      process.off('SIGUSR1', ignore)
    },
  }
}
