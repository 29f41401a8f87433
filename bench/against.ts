import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkOut } from '@plainpath/stack/check-out'
import { type MeasuredPath, measuredPaths, type Parts } from './measured-paths.ts'
import { makeAgents } from './testbed/make-agents.ts'
import { openStores } from './testbed/open-stores.ts'
import { startMeasuredApp } from './testbed/start-measured-app.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * Starts both apps as they were at another commit, with stores of their own, which have the tables of this tree.
 *
 * @returns the given paths, each with the same path of that commit as its only baseline; without those that it lacks
 */
export async function besideCommit(
  commit: string,
  paths: readonly MeasuredPath[],
  {
    folder,
    nodeOptions,
    ...parts
  }: Omit<Parts, 'auth' | 'api' | 'stores'> & {
    readonly folder: string
    readonly nodeOptions: readonly string[]
  },
): Promise<{ readonly paths: readonly MeasuredPath[] } & AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const root = path.join(folder, 'commit')
  checkOut(ROOT, commit, root)
  const before = path.join(folder, 'before')
  const stores = opening.use(await openStores(before))
  const options = { folder: before, nodeOptions, root, number: 1 }
  const auth = opening.use(await startMeasuredApp(stores, { ...options, app: 'auth' }))
  const api = opening.use(await startMeasuredApp(stores, { ...options, app: 'resource', auth }))
  const agents = await makeAgents(auth, parts.agents.length)
  const theirs = await measuredPaths({ ...parts, stores, auth, api, agents })
  const resources = opening.move()
  return {
    paths: paths.flatMap((ours) => {
      const same = theirs.find(({ name }) => name === ours.name)
      return same ? [{ ...ours, beside: [{ baseline: 'before', target: same.ours, tidy: same.tidy }] }] : []
    }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
