import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { startStack } from '@plainpath/stack/start-stack'
import type { TestProject } from 'vitest/node'

/** The stack that the tests of pages share. */
export interface PagesStack {
  readonly origin: string
}

declare module 'vitest' {
  interface ProvidedContext {
    pagesStack: PagesStack
  }
}

/** Vitest's `globalSetup`: starts one stack for all files of a project, because a start takes as long as a file's tests. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await using opening = new AsyncDisposableStack()
  const { path: folder } = opening.use(await createTemporaryFolder('pages'))
  const { origin } = opening.use(await startStack({ folder, limitsFactor: 1_000 }))
  project.provide('pagesStack', { origin })
  const resources = opening.move()
  return () => resources.disposeAsync()
}
