import path from 'node:path'
import { APPS, bundleApp } from './bundle-app.ts'

const [folder] = process.argv.slice(2)
if (!folder) {
  console.error('Usage: node infra/bundle/src/main.ts FOLDER, in which a folder for each app is created')
  process.exit(2)
}
for (const app of APPS) await bundleApp(app, path.resolve(folder, app))
