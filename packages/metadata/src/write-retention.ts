import { writeFileSync } from 'node:fs'
import { retentionDocument } from './retention.ts'

writeFileSync(new URL('../../../docs/retention.md', import.meta.url), retentionDocument())
