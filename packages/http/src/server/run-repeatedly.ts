/** Work that runs repeatedly. Disposing waits for the current run. */
interface RepeatedWork extends AsyncDisposable {
  /** Runs every `everyMs` from now on. */
  start(everyMs: number): void
  /** Starts a run immediately or, during a run, after it. In either case, a complete run follows this call. */
  runSoon(): void
}

/**
 * Runs `work` one run at a time.
 *
 * @param work handles its own failures, and ends early when `isStopped` returns true
 */
export function runRepeatedly(work: (isStopped: () => boolean) => Promise<void>): RepeatedWork {
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
