/** Work that runs repeatedly. Disposing waits for the current run, and no other run starts. */
interface RepeatedWork extends AsyncDisposable {
  /** Requests a run every `everyMs` from now on, as `runSoon` does. */
  start(everyMs: number): void
  /** Starts a run now, or after the current run. A complete run follows each call, unless the work is disposed of. */
  runSoon(): void
}

/**
 * Creates work that runs repeatedly, one run at a time. `start` or `runSoon` requests the first run.
 *
 * @param work handles its own failures, and ends early when `isStopped` returns true
 */
export function createRepeatedWork(work: (isStopped: () => boolean) => Promise<void>): RepeatedWork {
  let timer: NodeJS.Timeout | undefined
  let currentRun: Promise<void> | undefined
  let isRequested = false
  let isStopped = false

  async function run(): Promise<void> {
    try {
      while (isRequested && !isStopped) {
        isRequested = false
        await work(() => isStopped)
      }
    } finally {
      currentRun = undefined
    }
  }

  function runSoon(): void {
    isRequested = true
    currentRun ??= run()
  }

  return {
    start(everyMs) {
      timer = setInterval(runSoon, everyMs)
    },
    runSoon,
    async [Symbol.asyncDispose]() {
      isStopped = true
      clearInterval(timer)
      await currentRun
    },
  }
}
