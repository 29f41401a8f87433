import { setTimeout as sleep } from 'node:timers/promises'

/** A process that can be started again. */
export interface SupervisedProcess {
  readonly name: string
  readonly logFile: string
  /**
   * Waits until the process ends without having been stopped.
   *
   * @returns the cause, such as `exit code 1`
   */
  waitForCrash(signal: AbortSignal): Promise<string>
  /**
   * Starts the process again, and waits until it is ready.
   *
   * @param signal aborted when the supervision ends. If nothing else stops the process after that, this function must stop it
   * @throws {Error} when it does not become ready
   */
  start(signal: AbortSignal): Promise<void>
}

interface SupervisionOptions {
  readonly print: (line: string) => void
  /** True to restart the process; false to only print that it ended. */
  readonly shouldRestart: boolean
  /** The pause before the first restart, in milliseconds; by default 1,000. */
  readonly firstPauseMs?: number
}

const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000

/**
 * Prints a line when a process ends without having been stopped, and restarts it after a pause. The pause doubles each time, up to a
 * minute. After the process has run for longer than a minute, the next pause is as short as the first one. Disposing ends the
 * supervision, not the process.
 */
export function superviseProcess(supervised: SupervisedProcess, options: SupervisionOptions): Disposable {
  const stopping = new AbortController()
  void supervise(supervised, options, stopping.signal)
  return { [Symbol.dispose]: () => stopping.abort() }
}

async function supervise(
  supervised: SupervisedProcess,
  { print, shouldRestart, firstPauseMs = FIRST_PAUSE_MS }: SupervisionOptions,
  signal: AbortSignal,
): Promise<void> {
  const { name, logFile } = supervised
  let pauseMs = firstPauseMs
  while (!signal.aborted) {
    const readyAt = performance.now()
    let reason = `${name} ended unexpectedly (${await supervised.waitForCrash(signal)}), see ${logFile}.`
    if (signal.aborted) return
    if (!shouldRestart) return print(`${reason} It will not be restarted (--no-restart).`)
    if (performance.now() - readyAt > MAX_PAUSE_MS) pauseMs = firstPauseMs
    for (let isRunning = false; !isRunning; ) {
      print(`${reason} It will be restarted in ${pauseMs / 1000} s.`)
      // The pause rejects when the supervision ends.
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)
      const failure = await tryStart(supervised, signal)
      if (signal.aborted) return
      isRunning = failure === undefined
      reason = `${name} cannot be restarted (${failure}), see ${logFile}.`
    }
    print(`${name} is running again.`)
  }
}

/**
 * Starts the process.
 *
 * @returns why it did not become ready, or undefined
 */
async function tryStart(supervised: SupervisedProcess, signal: AbortSignal): Promise<string | undefined> {
  try {
    await supervised.start(signal)
    return undefined
  } catch (error) {
    // After the colon, the message quotes the end of the output.
    return (error as Error).message.split(':\n')[0]
  }
}
