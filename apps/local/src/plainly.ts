/** Errors that say in one line what a person can do about them; anything else is a bug and keeps its stack. */
const PLAIN = new Set(['LocalError', 'EmbeddedPostgresError', 'ConfigError'])

/** Runs a program; its exit code, or 1 after one line that says why it cannot go on. */
export async function plainly(program: () => Promise<number>): Promise<number> {
  try {
    return await program()
  } catch (error) {
    if (!(error instanceof Error) || !PLAIN.has(error.name)) throw error
    console.error(error.message)
    return 1
  }
}
