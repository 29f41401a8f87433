export { backUp } from './testing/back-up.ts'

export { openTestDatabase, type TestDatabase } from './testing/test-database.ts'
