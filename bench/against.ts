import path from 'node:path'
import { compileApps } from '@plainpath/stack/start-app'
import { createMeasuredPaths, type MeasuredPath, type Testbed } from './measured-paths.ts'
import { openStores } from './testbed/open-stores.ts'
import { registerAgents } from './testbed/register-agents.ts'
import { startMeasuredApp } from './testbed/start-measured-app.ts'

/**
 * Starts both apps as they are at another commit. They have stores of their own, with the tables of this work tree.
 *
 * @param root the check-out of the other commit
 * @param parts the parts of the test bed that both commits share
 * @returns those of the given paths that the other commit has too, each with the path of that commit as its only baseline
 */
export async function startAppsAtCommit(
  root: string,
  paths: readonly MeasuredPath[],
  {
    folder,
    nodeOptions,
    ...parts
  }: Omit<Testbed, 'auth' | 'api' | 'stores'> & {
    readonly folder: string
    readonly nodeOptions: readonly string[]
  },
): Promise<{ readonly paths: readonly MeasuredPath[] } & AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  await compileApps(nodeOptions, root)
  const otherFolder = path.join(folder, 'before')
  const stores = opening.use(await openStores(otherFolder))
  const options = { folder: otherFolder, nodeOptions, root, instanceNumber: 1 }
  const auth = opening.use(await startMeasuredApp(stores, { ...options, app: 'auth' }))
  const api = opening.use(await startMeasuredApp(stores, { ...options, app: 'resource', auths: [auth] }))
  const agents = await registerAgents(auth, parts.agents.length)
  const otherPaths = await createMeasuredPaths({ ...parts, stores, auth, api, agents })
  const comparedPaths: MeasuredPath[] = []
  for (const measuredPath of paths) {
    const otherPath = otherPaths.find(({ name }) => name === measuredPath.name)
    if (!otherPath) continue
    const { ours: target, cleanUp } = otherPath
    comparedPaths.push({ ...measuredPath, comparisons: [{ baseline: 'before', target, cleanUp }] })
  }
  const resources = opening.move()
  return { paths: comparedPaths, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}
