import type { TestProject } from 'vitest/node'
import { beginTestRun } from './test-run.ts'

/** Vitest `globalSetup`: uses the server of `TEST_POSTGRES_URL`, and never another server, for a project's tests. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env['TEST_POSTGRES_URL']
  if (!url) throw new Error('TEST_POSTGRES_URL is not set')
  const { [Symbol.asyncDispose]: endRun, ...testPostgres } = await begin(url)
  project.provide('testPostgres', testPostgres)
  return async () => endRun()
}

async function begin(adminUrl: string) {
  try {
    return await beginTestRun({ adminUrl, source: 'TEST_POSTGRES_URL' }, console)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`the server of TEST_POSTGRES_URL cannot be used: ${reason}`, { cause: error })
  }
}
