/** Work that runs again and again. Disposing waits for the current run. */
interface RepeatedWork extends AsyncDisposable {
  /** Runs every `everyMs` from now on. */
  start(everyMs: number): void
  /** Runs at once or, during a run, once more after it, so that a run always starts after this call. */
  runSoon(): void
}

/**
 * Runs `work` one run at a time.
 *
 * @param work handles its own failures, and ends early when `isStopped` returns true
 */
export function runRepeatedly(work: (isStopped: () => boolean) => Promise<void>): RepeatedWork {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let requested = false
  let stopped = false

  async function run(): Promise<void> {
    try {
      while (requested && !stopped) {
        requested = false
        await work(() => stopped)
      }
    } finally {
      running = undefined
    }
  }

  function runSoon(): void {
    requested = true
    running ??= run()
  }

  return {
    start(everyMs) {
      timer = setInterval(runSoon, everyMs)
    },
    runSoon,
    async [Symbol.asyncDispose]() {
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}
