import type { ResourceServer } from './resource-servers.ts'
import { exists, readResourceServers, replaceFile } from './resource-servers-file.ts'
import { isAtMostOneStepOn } from './rotate-credential.ts'

/** The servers' file that commands change: the one that is served or, where that cannot be written, a copy of it. */
export interface ChangedServersFile {
  /** Of a copy that is not there yet, what it begins as. */
  read(): Promise<readonly ResourceServer[]>
  write(servers: readonly ResourceServer[]): Promise<void>
  /** Whether what is served is what this says. */
  isServed(): Promise<boolean>
  /** Whether it is a copy that was written before. */
  isBegunCopy(): Promise<boolean>
  /** @returns why a copy may not be gone on with: what is served was changed otherwise, and it would undo that */
  stray(clientId: string): Promise<string | undefined>
  /** What whoever waits in vain has to do. */
  readonly runAgain: string
}

export function changedServersFile({
  served,
  copy,
}: {
  served: string
  copy: string | undefined
}): ChangedServersFile {
  const file = copy ?? served
  const read = async () => readResourceServers((await exists(file)) ? file : served)
  return {
    read,
    write: (servers) => replaceFile(file, `${JSON.stringify(servers, null, 2)}\n`),
    isServed: async () =>
      copy === undefined ||
      JSON.stringify(await readResourceServers(served)) === JSON.stringify(await read()),
    isBegunCopy: async () => copy !== undefined && (await exists(copy)),
    async stray(clientId) {
      if (copy === undefined) return undefined
      const [now, copied] = [await readResourceServers(served), await read()]
      if (isAtMostOneStepOn({ served: now, copy: copied }, clientId)) return undefined
      return `${copy} is a copy from before other changes of ${served}. Remove it, and begin anew.`
    },
    runAgain: `${copy === undefined ? '' : `Put ${copy} in place of ${served}. `}Run the same command again.`,
  }
}
