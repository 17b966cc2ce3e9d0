// Prints the checks of a conformance run that failed (a warning counts) and are not in its baseline, each with
// its reason.
//
//   failed_checks.mjs RESULTS BASELINE

import { readdirSync, readFileSync } from 'node:fs';

const [results, baselineFile] = process.argv.slice(2);
const baseline = readFileSync(baselineFile, 'utf8').matchAll(/^\s*- ([^\s#]+)/gm);
const excused = new Set([...baseline].map((entry) => entry[1]));

for (const directory of readdirSync(results).sort()) {
  // `server-SCENARIO-2026-01-01T00-00-00-000Z`
  const scenario = directory.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T.*$/, '');
  for (const check of JSON.parse(readFileSync(`${results}/${directory}/checks.json`, 'utf8'))) {
    if (!['FAILURE', 'WARNING'].includes(check.status) || excused.has(scenario) || excused.has(`${scenario}:${check.id}`)) continue;
    console.log(`${scenario}: ${check.id}: ${check.errorMessage ?? check.description}`);
    if (check.details) console.log(`  ${JSON.stringify(check.details).slice(0, 1500)}`);
  }
}
