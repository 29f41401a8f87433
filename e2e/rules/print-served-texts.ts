import process from 'node:process'
import { RULES } from '@plainpath/domain/rules'

// Before anything else is loaded, which takes its figures from there.
Object.assign(RULES, JSON.parse(process.argv[2] ?? '{}'))
const { servedTexts } = await import('./served-texts.ts')
process.stdout.write(JSON.stringify(servedTexts()))
