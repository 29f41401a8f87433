/** Work that a server does again and again. Disposing waits for the run under way. */
interface RepeatedWork extends AsyncDisposable {
  /** Runs every `everyMs` from now on. */
  start(everyMs: number): void
  /** Runs at once or, during a run, once more after it: so what is new when this is called is always seen. */
  runSoon(): void
}

/**
 * Runs `work` one run at a time.
 *
 * @param work handles its own failures; `isStopped` says that it is to end early
 */
export function runRepeatedly(work: (isStopped: () => boolean) => Promise<void>): RepeatedWork {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let again = false
  let stopped = false

  async function run(): Promise<void> {
    try {
      while (again && !stopped) {
        again = false
        await work(() => stopped)
      }
    } finally {
      running = undefined
    }
  }

  function runSoon(): void {
    again = true
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
