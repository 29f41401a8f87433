export { backUp } from './testing/back-up.ts'
export type { TestPostgres } from './testing/provided-context.ts'
export { openTestDatabase, type TestDatabase } from './testing/test-database.ts'
