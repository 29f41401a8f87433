/** Tells a person what happens, and how long each step took. */
export interface Steps {
  run<T>(name: string, work: () => Promise<T>, outcome?: (result: T) => string): Promise<T>
}

export function printedSteps(print: (line: string) => void): Steps {
  return {
    async run(name, work, outcome) {
      const startedAt = performance.now()
      const result = await work()
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      print(`  ${name.padEnd(22)} ${`${seconds} s`.padStart(6)}   ${outcome?.(result) ?? 'ready'}`)
      return result
    },
  }
}

/** For command lines, which print nothing but their answer. */
export const silentSteps: Steps = { run: (_name, work) => work() }
