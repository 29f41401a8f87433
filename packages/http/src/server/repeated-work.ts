/** Work that runs repeatedly. Disposing it waits for the current run, and no further run starts. */
interface RepeatedWork extends AsyncDisposable {
  /** Calls `requestRun` every `intervalMs`, for the first time after `intervalMs`. Must be called only once. */
  start(intervalMs: number): void
  /**
   * Starts a run now, or after the current run. Each call is thus followed by a complete run, which sees what changed before the
   * call, unless the work is disposed of. After that, a call does nothing.
   */
  requestRun(): void
}

/**
 * Creates work that runs repeatedly, one run at a time.
 *
 * @param work must not reject, because the rejection would be unhandled. Should end early once `isStopped` returns true
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

  function requestRun(): void {
    isRequested = true
    currentRun ??= run()
  }

  return {
    start(intervalMs) {
      timer = setInterval(requestRun, intervalMs)
    },
    requestRun,
    async [Symbol.asyncDispose]() {
      isStopped = true
      clearInterval(timer)
      await currentRun
    },
  }
}
