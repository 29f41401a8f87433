import { writeFileSync } from 'node:fs'
import { createRetentionDocument } from './retention.ts'

writeFileSync(new URL('../../../docs/retention.md', import.meta.url), createRetentionDocument())
