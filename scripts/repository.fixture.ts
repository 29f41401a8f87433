import type { Check } from './repository.ts'

/** Runs a check on a repository that holds these files, in memory. */
export function breachesOf(check: Check, files: Readonly<Record<string, string>>): string[] {
  return check({
    files: Object.keys(files).toSorted(),
    read(file) {
      const content = files[file]
      if (content === undefined) throw new Error(`there is no ${file}`)
      return content
    },
  })
}
