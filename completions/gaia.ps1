# Completion of gaia and gmcp for PowerShell. Written by: gaia mcp generate

Register-ArgumentCompleter -Native -CommandName @("gaia", "gmcp") -ScriptBlock {
    param($word, $line, $cursor)
    $words = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object {
        if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { "$_" }
    })
    $before = @($words | Select-Object -Skip 1)
    # An empty word would not arrive, so there is a dot before it.
    & $words[0] complete powershell '--' @before ('.' + $word.Trim('"', "'")) 2>$null | ForEach-Object {
        $value, $description = $_ -split "`t", 2
        $typed = if ($value -match '[\s''"`$;,(){}&|<>@#]') { "'" + $value.Replace("'", "''") + "'" } else { $value }
        [System.Management.Automation.CompletionResult]::new($typed, $value, 'ParameterValue', $description)
    }
}
